"""Who the bot is in Discord: its name, its owners, its rights. Knows what the owner has to click. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

import discord


@dataclass(frozen=True, slots=True)
class Identity:
    """What Discord says about the application before anything is connected.

    `id` is the application's, `user` the bot's own user id; `owners` maps user ids to names; `invite` is the link that
    adds the bot with exactly the rights it needs; `reads_all` says whether the message-content intent is on,
    `goes_along` whether people may install the bot for themselves and take it to wherever they write.
    """

    id: int
    user: int
    name: str
    owners: dict[int, str]
    invite: str
    reads_all: bool
    goes_along: bool = False

    @property
    def lines(self) -> list[str]:
        """What the owner should read at the start."""
        lines = [
            f"Discord: connected as {self.name}; owner: {', '.join(self.owners.values())}",
            f"Discord: add the bot to a server: {self.invite}",
        ]
        if not self.reads_all:
            lines.append(
                "Discord: the message-content intent is off. Direct messages, mentions, replies that ping and slash "
                "commands work; talk without a mention in threads of the bot's own does not. To change that: "
                f"https://discord.com/developers/applications/{self.id}/bot, Message Content Intent."
            )
        return lines


def identity_of(client: discord.Client, *, auto_thread: bool) -> Identity:
    """Describe the application of a client that is logged in."""
    info, user = client.application, client.user
    if info is None or user is None:
        raise RuntimeError("the client is not logged in")
    people = [info.owner] if info.team is None else [member for member in info.team.members if _owns(member, info.team)]
    flags = info.flags
    return Identity(
        id=info.id,
        user=user.id,
        name=info.name,
        owners={person.id: person.name for person in people},
        invite=discord.utils.oauth_url(
            info.id, permissions=_permissions(auto_thread=auto_thread), scopes=("bot", "applications.commands")
        ),
        reads_all=flags.gateway_message_content or flags.gateway_message_content_limited,
        goes_along=info.user_integration_config is not None,
    )


def _owns(member: discord.TeamMember, team: discord.Team) -> bool:
    """Whether a member of the team may steer the application: who made the team, and its administrators."""
    joined = member.membership_state is discord.TeamMembershipState.accepted
    return member.id == team.owner_id or (joined and member.role is discord.TeamMemberRole.admin)


def _permissions(*, auto_thread: bool) -> discord.Permissions:
    """Return what the bot needs: to read, answer, react, read back, show memories, hand over files; to open threads."""
    return discord.Permissions(
        view_channel=True,
        send_messages=True,
        send_messages_in_threads=True,
        read_message_history=True,
        embed_links=True,
        attach_files=True,
        add_reactions=True,
        create_public_threads=auto_thread,
    )
