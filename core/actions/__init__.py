"""The actions, in the order for models. The last one is the fallback of every turn."""

from core.actions.action import Action
from core.actions.memory_delete import MEMORY_DELETE
from core.actions.memory_save import MEMORY_SAVE
from core.actions.memory_search import MEMORY_SEARCH
from core.actions.memory_send import MEMORY_SEND
from core.actions.memory_update import MEMORY_UPDATE
from core.actions.texts import FINISH, QUESTION

ACTIONS: tuple[Action, ...] = (MEMORY_SEARCH, MEMORY_SAVE, MEMORY_UPDATE, MEMORY_DELETE, MEMORY_SEND, QUESTION, FINISH)

__all__ = ["ACTIONS", "Action"]
