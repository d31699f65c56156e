"""The server's application: what it answers to requests, and the talk with a table's pages."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.abc import ObjectSendStream, TaskGroup
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from card_envs.agents import Agent
from card_envs.engine.history import Replay
from card_envs.games import GAMES, load_game, load_games
from card_envs.utils.version import VERSION
from card_envs.web.about import about, guide, player_colours
from card_envs.web.agents import AgentMenu, NoAgentError
from card_envs.web.guard import SameOriginMiddleware
from card_envs.web.kept import KeptTables
from card_envs.web.messages import (
    FROM_PAGE,
    Act,
    Advance,
    Again,
    Analyse,
    FindDisputes,
    FindRounds,
    FromPage,
    Hint,
    Look,
    NewTable,
    OpenReplay,
    Problem,
    Undo,
    in_words,
)
from card_envs.web.runs import read_runs
from card_envs.web.sessions import Limits, Session, Tables, TooManyError
from card_envs.web.starting import begin_again, begin_table
from card_envs.web.table import ViewedTable
from card_envs.web.workers import Workers

logger = logging.getLogger("card_envs.web")

_STATIC = Path(__file__).parent / "static"
_FONTS = Path(__file__).parent.parent / "render" / "fonts"
_SLOW_PAGE = 10.0  # seconds after which a page that takes no message is cut off
_MOST_UNANSWERED = 16  # messages of a page that wait; what comes then is not read until later
_SLOW_REQUEST = 30.0  # seconds after which a request must have come as a whole

_Request = TypeVar("_Request", bound=BaseModel)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Settings:
    """What the command line says.

    Args:
        host: What the server listens to.
        names: Further host names that it is reached by.
        policies: A folder of policy files.
        agents: Names of further agents.
        runs: A folder of training runs.
        kept: A folder for unfinished games, which can be gone on with when the server is begun
            again; None: there is none.
        is_open: Whether tables are begun as open ones.
        limits: What is allowed.
    """

    host: str = "127.0.0.1"
    names: Sequence[str] = ()
    policies: Path | None = None
    agents: Sequence[str] = ()
    runs: Path | None = None
    kept: Path | None = None
    is_open: bool = False
    limits: Limits = field(default_factory=Limits)


def create_app(settings: Settings) -> Starlette:
    """The application.

    Raises:
        ValueError, OSError: A setting is wrong; the message says which.
    """
    server = _Server(settings)
    app = Starlette(
        routes=[
            Route("/", server.index),
            Route("/api/games", server.games),
            Route("/api/games/{game}/guide", server.guide),
            Route("/api/tables", server.new_table, methods=["POST"]),
            Route("/api/tables/{name}/again", server.again, methods=["POST"]),
            Route("/api/tables/{name}/replay", server.replay),
            Route("/api/runs", server.runs),
            Route("/api/replays", server.open_replay, methods=["POST"]),
            WebSocketRoute("/tables/{name}", server.talk),
            Mount("/static", StaticFiles(directory=_STATIC)),
            Mount("/fonts", StaticFiles(directory=_FONTS)),
        ],
        middleware=[
            Middleware(SameOriginMiddleware, host=settings.host, names=settings.names),
            Middleware(GZipMiddleware, minimum_size=1000),
        ],
        exception_handlers={HTTPException: _problem},
        lifespan=server.lifespan,
    )
    app.state.menu = server.menu
    return app


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"problem": error.detail}, status_code=error.status_code)


class _Server:
    """The answers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limits = settings.limits
        if settings.runs is not None and not settings.runs.is_dir():
            raise NotADirectoryError(f"--runs: there is no folder {settings.runs}")
        games = load_games(old_versions=True)
        self._games = [game for game in games if game.name == GAMES[game.id][-1]]
        self.menu = AgentMenu(games, settings.policies, settings.agents, settings.runs)
        self._kept = KeptTables(settings.kept, settings.limits.tables) if settings.kept else None
        self._tables = Tables(settings.limits)
        self._workers = Workers()
        self._reading_runs = anyio.Lock()
        # It never changes, and takes as long as many moves.
        self._about = {
            "version": VERSION,
            "is_open": settings.is_open,
            "has_runs": settings.runs is not None,
            "player_colours": player_colours(self._games),
            "games": [about(game, self.menu.labels(game), settings.limits) for game in self._games],
        }

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self._workers.close()

    # -----------------------------------------------------------------------------------------
    # Requests
    # -----------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def games(self, request: Request) -> Response:
        return JSONResponse(self._about)

    async def guide(self, request: Request) -> Response:
        name = request.path_params["game"]
        return PlainTextResponse(await self._tried(lambda: guide(load_game(name))))

    async def new_table(self, request: Request) -> Response:
        wanted = await self._read(request, NewTable)
        self._tables.check_room()
        table = await self._tried(
            lambda: begin_table(
                wanted, self.menu, self._limits.decisions, is_open=self._settings.is_open
            )
        )
        return self._added(table)

    async def again(self, request: Request) -> Response:
        wanted = await self._read(request, Again)
        session = await self._session(request.path_params["name"])
        self._tables.check_room()
        async with session.lock:
            table = await self._tried(
                lambda: begin_again(session.table, self.menu, same_deal=wanted.same_deal)
            )
        return self._added(table)

    async def open_replay(self, request: Request) -> Response:
        wanted = await self._read(request, OpenReplay)
        self._tables.check_room()

        def open_replay() -> ViewedTable:
            replay = Replay.from_bytes(wanted.replay.strip().encode())
            if replay.num_decisions > self._limits.replayed:
                raise ValueError(f"a replay has at most {self._limits.replayed} decisions here")
            return ViewedTable.of_replay(replay)

        return self._added(await self._tried(open_replay))

    async def runs(self, request: Request) -> Response:
        folder = self._settings.runs
        if folder is None:
            raise HTTPException(404, "the server was started without --runs")
        async with self._reading_runs:  # a slow disk takes one worker, not all
            found = await self._workers.run(lambda: read_runs(folder).model_dump_json())
        return Response(found, media_type="application/json")

    async def replay(self, request: Request) -> Response:
        session = await self._session(request.path_params["name"])
        async with session.lock:
            replay = await self._tried(session.table.replay)
        name = f"{replay.game}.json"
        return Response(
            replay.to_json() + "\n",
            media_type="application/json",
            headers={
                "Content-Disposition": f'attachment; filename="{name}"',
                "Cache-Control": "no-store",
            },
        )

    async def _read(self, request: Request, model: type[_Request]) -> _Request:
        body = b""
        try:
            with anyio.fail_after(_SLOW_REQUEST):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > self._limits.request_bytes:
                        raise HTTPException(413, "the request is too large")
        except TimeoutError:
            raise HTTPException(408, "the request did not come as a whole in time") from None
        except ClientDisconnect:
            raise HTTPException(400, "the request broke off") from None
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            raise HTTPException(422, in_words(error)) from None

    async def _tried(self, work: Callable[[], _Result]) -> _Result:
        """Do what a request asks for; what is wrong with it is told."""
        try:
            return await self._workers.run(work)
        except PermissionError as error:
            raise HTTPException(403, str(error)) from None
        except (ValueError, TypeError) as error:
            raise HTTPException(422, str(error)) from None

    async def _session(self, name: str) -> Session:
        session = self._tables.get(name)
        if session is None and (kept := self._kept) is not None:
            try:
                table = await self._workers.run(lambda: kept.restore(name, self.menu))
                session = self._tables.put(name, table) if table else None
            except NoAgentError:
                raise HTTPException(503, _NO_AGENT) from None
            except (ValueError, OSError) as error:
                logger.warning("the kept game %s cannot be read: %s", name, error)
                raise HTTPException(503, _UNREADABLE) from None
        if session is None:
            raise HTTPException(404, _GONE)
        return session

    async def _keep(self, session: Session) -> None:
        """Write the game of a person down; if the disk takes nothing more, it goes on without."""
        table = session.table
        if (kept := self._kept) is not None and table.kind == "play":
            try:
                await self._workers.run(lambda: kept.keep(session.name, table))
            except OSError as error:
                logger.warning("games cannot be written down, and end with the server: %s", error)

    def _added(self, table: ViewedTable) -> Response:
        return JSONResponse({"table": self._tables.add(table)}, status_code=201)

    # -----------------------------------------------------------------------------------------
    # The talk with a page
    # -----------------------------------------------------------------------------------------

    async def talk(self, page: WebSocket) -> None:
        name = page.path_params["name"]
        await page.accept()
        try:
            session = await self._session(name)
        except HTTPException as error:
            await page.close(4000 + error.status_code, error.detail)
            return
        try:
            async with anyio.create_task_group() as tasks:
                page.state.talk = tasks.cancel_scope
                with suppress(WebSocketDisconnect):
                    await self._talk(name, session, page, tasks)
                tasks.cancel_scope.cancel()
        finally:
            self._tables.leave(session, page)

    async def _talk(self, name: str, session: Session, page: WebSocket, tasks: TaskGroup) -> None:
        table = session.table
        advisers = self.menu.labels(table.game)
        hand_over, texts = anyio.create_memory_object_stream[str | None](_MOST_UNANSWERED)
        tasks.start_soon(_receive, page, hand_over)
        async with session.lock:  # what happens at the table is told after the welcome
            try:
                self._tables.join(session, page)
            except TooManyError as error:
                await page.close(4000 + error.status_code, error.detail)
                return
            welcome = await self._workers.run(lambda: table.welcome(advisers).model_dump_json())
            await page.send_text(welcome)
            with _whole(), _problems_told() as problems:
                await self._play_on(session)
                await self._keep(session)
        for problem in problems:
            await _send(page, problem)
        search = anyio.CancelScope()
        async for text in texts:
            if text is None:
                await page.close(1003, "messages are texts, this one is of bytes")
                return
            if self._tables.get(name) is not session:
                # One that was kept is found again by the page's next try.
                await page.close(4404 if self._kept is None else 1012, _GONE)
                return
            with _problems_told() as problems:
                message = FROM_PAGE.validate_json(text)
                if isinstance(message, FindDisputes):
                    # It takes a while, during which the page can be used; there is one at a time.
                    search.cancel()
                    search = anyio.CancelScope()
                    tasks.start_soon(self._find_disputes, session, message.agent, page, search)
                else:
                    await self._answer(message, session, page)
            for problem in problems:
                await _send(page, problem)

    async def _find_disputes(
        self, session: Session, label: str, page: WebSocket, scope: anyio.CancelScope
    ) -> None:
        with scope, suppress(WebSocketDisconnect, RuntimeError):
            with _problems_told() as problems:
                adviser = await self._adviser(label, session)
                async with session.lock:
                    found = session.table.find_disputes(adviser, label)
                while disputes := await self._workers.run(lambda: next(found, None), adviser):
                    await _send(page, disputes)
            for problem in problems:
                await _send(page, problem)

    async def _answer(self, message: FromPage, session: Session, page: WebSocket) -> None:
        table = session.table
        answer: BaseModel | None = None
        if isinstance(message, FindRounds):
            # It takes a while, and the table is used meanwhile; who asks next finds what is known.
            async with session.finding:
                async with session.lock:
                    find = table.find_rounds()
                answer = await self._workers.run(find, takes_long=True)
            await _send(page, answer)
            return
        async with session.lock:
            match message:
                case Act(step=step, action=action):
                    table.check_step(step)
                    with _whole():
                        state = await self._workers.run(lambda: table.act(action))
                        await self._tell_all(session, state)
                        await self._play_on(session)
                        await self._keep(session)
                case Advance(step=step):
                    if step < table.steps:
                        return  # another page that watches has asked for it
                    table.check_step(step)
                    with _whole():
                        await self._let_agent_act(session)
                case Undo(step=step):
                    with _whole():
                        state = await self._workers.run(lambda: table.undo(step))
                        await self._tell_all(session, state)
                        await self._keep(session)
                case Hint(step=step, agent=label):
                    table.check_step(step)
                    agent = await self._adviser(label, session)
                    answer = await self._workers.run(lambda: table.hint(agent, label), agent)
                case Look(step=step, eyes=eyes):
                    answer = await self._workers.run(lambda: table.look(step, eyes))
                case Analyse(step=step, agent=label):
                    agent = await self._adviser(label, session)
                    answer = await self._workers.run(
                        lambda: table.analyse(step, agent, label), agent
                    )
        if answer is not None:
            await _send(page, answer)

    async def _play_on(self, session: Session) -> None:
        """Let the agents play until it is the person's turn, if a person plays."""
        table = session.table
        while table.kind == "play" and table.waits_for_agent:
            await self._let_agent_act(session)

    async def _let_agent_act(self, session: Session) -> None:
        table = session.table
        agent = table.table.agents[table.table.player] if table.waits_for_agent else None
        state, told = await self._workers.run(table.let_agent_act, agent)
        if told:
            await self._tell_all(session, Problem(message=told))
        await self._tell_all(session, state)

    async def _adviser(self, label: str, session: Session) -> Agent:
        return await self._workers.run(lambda: self.menu.adviser(label, session.table.game))

    async def _tell_all(self, session: Session, message: BaseModel) -> None:
        text = message.model_dump_json()
        slow = []
        for page in tuple(session.pages):
            with anyio.move_on_after(_SLOW_PAGE) as waiting:
                # A page that has gone is taken off the table by its own talk.
                with suppress(WebSocketDisconnect, RuntimeError):
                    await page.send_text(text)
            if waiting.cancelled_caught:
                session.pages.discard(page)
                slow.append(page)
        for page in slow:  # the page tries again, and is welcomed
            page.state.talk.cancel()


# WebSockets are closed for a reason of at most 123 bytes.
_GONE = "there is no such table; it may have been idle for too long"
_NO_AGENT = "the game is kept, but an agent that sits at it is not offered at present"
_UNREADABLE = "the game is kept, but its file cannot be read; the server's log says why"


def _whole() -> anyio.CancelScope:
    """A context in which a change of a table is finished, and all are told of it, even if the page
    that asked is cut off."""
    return anyio.CancelScope(shield=True)


@contextmanager
def _problems_told() -> Iterator[list[Problem]]:
    """Collects what is wrong with a message instead of raising it."""
    problems: list[Problem] = []
    try:
        yield problems
    except ValidationError as error:
        problems.append(Problem(message=in_words(error)))
    except (ValueError, OSError) as error:  # a program may not be started for lack of files
        problems.append(Problem(message=str(error)))


async def _receive(page: WebSocket, texts: ObjectSendStream[str | None]) -> None:
    """Hand over what the page says, None for bytes; pongs are heard while an agent thinks."""
    async with texts:
        # A page that went while it was told something is no longer connected.
        while page.application_state is WebSocketState.CONNECTED:
            try:
                text = await page.receive_text()
            except KeyError:
                text = None
            except WebSocketDisconnect:
                return
            await texts.send(text)


async def _send(page: WebSocket, message: BaseModel) -> None:
    await page.send_text(message.model_dump_json())
