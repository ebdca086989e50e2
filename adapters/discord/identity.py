"""Ask Discord who the bot is: its name, its owners, its rights, and what its owner should read about that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import discord

from adapters.discord.config import DiscordConfig
from adapters.discord.pacer import Pacer
from adapters.running import Backoff, keep_trying
from core.errors import ConfigError
from core.ports import Clock

LONGEST_PAUSE_S: Final = 30.0
"""So long after the end of an outage, at most, the next attempt to connect begins."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What Discord says about the application, before anything is connected.

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


async def introduce(config: DiscordConfig, pacer: Pacer, clock: Clock) -> Identity:
    """Return who the bot is. While nobody answers, keep asking.

    Raises:
        ConfigError: the token is wrong.
    """

    async def ask() -> Identity:
        try:
            async with discord.Client(intents=discord.Intents(guilds=True), http_trace=pacer.trace()) as client:
                await client.login(config.token)
                return _identity_of(client, auto_thread=config.auto_thread)
        except discord.LoginFailure:
            raise rejected_token() from None

    return await keep_trying(ask, clock, "discord cannot be reached", Exception, backoff=new_backoff())


def new_backoff() -> Backoff:
    """Return the pauses between attempts to reach Discord: 2 s to 30 s."""
    return Backoff(2.0, LONGEST_PAUSE_S)


def rejected_token() -> ConfigError:
    """Return the error for a token that Discord does not know."""
    advice = "Discord does not accept it; copy it again from the developer portal, page Bot, Reset Token"
    return ConfigError("DISCORD_TOKEN", advice)


def point_rest_at(api_base_url: str) -> None:
    """Make the library speak to that API; it keeps the address in its class."""
    discord.http.Route.BASE = api_base_url.rstrip("/")


def _identity_of(client: discord.Client, *, auto_thread: bool) -> Identity:
    """Return the identity of a client that is logged in."""
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
    """Whether a member of the team owns the bot: the team's owner and its administrators do."""
    joined = member.membership_state is discord.TeamMembershipState.accepted
    return member.id == team.owner_id or (joined and member.role is discord.TeamMemberRole.admin)


def _permissions(*, auto_thread: bool) -> discord.Permissions:
    """Return the rights that the bot needs; to open threads only with `auto_thread`."""
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
