"""Conversations about shared passages: every turn sends all that was said, and asks one more question."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sim.base.bounds import Count, Factor
from sim.base.settings import Settings
from sim.base.units import Seconds
from sim.base.words import exactly, plural
from sim.workload.growing import FIRST_OWN_SCOPE, Turn, shared_start, timed, with_chunks, with_indices
from sim.workload.request import Request, Trace
from sim.workload.synthetic.arrivals import Arrivals, arrivals
from sim.workload.synthetic.draws import MOST_REQUESTS, Draws, SecondsDrawn, TokensDrawn

_FOREVER_S = float("inf")


class Chat(Settings):
    """Conversations: a shared passage and a question, then answers and further questions behind it."""

    kind: Literal["chat"]
    """What is made."""
    sessions: Annotated[int, Field(gt=0, le=MOST_REQUESTS)]
    """Conversations."""
    turns: Annotated[int, Field(gt=0, le=10_000)] = 5
    """Requests of each."""
    passages: Annotated[int, Field(gt=0, le=FIRST_OWN_SCOPE)] = 10
    """Texts that conversations begin with, each with the same chance."""
    passage_tokens: TokensDrawn = (3_500, 4_000)
    """Length of each passage, with all that stands before it."""
    question_tokens: TokensDrawn = 100
    """What the user says in a turn, with the template around it and around the answer before."""
    answer_tokens: TokensDrawn = 500
    """Length of an answer."""
    think_s: SecondsDrawn = 1.0
    """From an answer to the next question."""
    start_gap_s: Seconds = 0.5
    """Time from the start of one conversation to the next, where the client goes by timestamps."""
    chunk_tokens: Count = 16
    """What is shared is whole chunks of so many tokens."""

    rate_per_s: Factor | None = None
    """Unset: conversations, turn after turn. Else single requests of an open loop at this rate: turns of
    all conversations in a random order, whose prompts hold answers that were given before, elsewhere."""
    requests: Annotated[int, Field(gt=0, le=MOST_REQUESTS)] | None = None
    """How many of those turns are sent; unset: all."""
    arrivals: Arrivals = "poisson"
    """Gaps between them."""
    output_tokens: TokensDrawn | None = None
    """What is generated for each of them; unset: as much as the answer that was given before."""

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        total = self.sessions * self.turns
        if total > MOST_REQUESTS:
            raise ValueError(f"sessions x turns: at most {exactly(MOST_REQUESTS, 'request')}")
        for key in ("requests", "output_tokens"):
            if self.rate_per_s is None and getattr(self, key) is not None:
                raise ValueError(f"{key}: only beside rate_per_s, with which turns are sent one by one")
        if self.requests is not None and self.requests > total:
            raise ValueError(f"requests: the conversations have {total:,}")
        return self

    def trace(self, seed: int) -> Trace:
        """Return what the settings describe."""
        draws = Draws("chat", seed)
        conversations = (self._conversation(draws, number) for number in range(self.sessions))
        requests = [request for conversation in conversations for request in conversation]
        note = f"generated as chat, seed {seed}: {exactly(self.sessions, 'conversation')}"
        note += f" of {exactly(self.turns, 'turn')} on {self.passages:,} shared "
        note += plural(self.passages, "passage")
        if self.rate_per_s is not None:
            single = self._single(draws, requests, self.rate_per_s)
            note += f"; {len(single):,} of their turns one by one, {self.rate_per_s:g} a second"
            return Trace(single, self.chunk_tokens, "chat", (note,), marks_answers=True)
        requests.sort(key=attrgetter("timestamp_s"))
        every = with_indices(requests)
        return Trace(every, self.chunk_tokens, "chat", (note,), answers="returned", marks_answers=True)

    def _conversation(self, draws: Draws, number: int) -> Iterator[Request]:
        group = int(draws.uniform("passage", number) * self.passages)
        passage = draws.tokens(self.passage_tokens, "passage tokens", group)
        shared = shared_start(group, passage, self.chunk_tokens)
        turns = with_chunks(self._turns(draws, number, passage), shared, number, self.chunk_tokens)
        return timed(turns, f"chat-{number}", number * self.start_gap_s, _FOREVER_S)

    def _turns(self, draws: Draws, session: int, passage: int) -> Iterator[Turn]:
        kept, answer = passage, 0
        for turn in range(self.turns):
            question = draws.tokens(self.question_tokens, "question", session, turn)
            prompt = kept + answer + question
            output = draws.tokens(self.answer_tokens, "answer", session, turn)
            yield Turn(prompt, kept, answer, output, draws.seconds(self.think_s, "think", session, turn))
            kept, answer = prompt, output

    def _single(self, draws: Draws, turns: list[Request], rate_per_s: float) -> tuple[Request, ...]:
        """Return turns as requests of their own, in a random order."""
        chosen = draws.order(len(turns), "order")[: self.requests]
        times = arrivals(draws, len(chosen), rate_per_s, self.arrivals)
        return tuple(
            Request(
                index=index,
                session=f"{turns[place].session}-{turns[place].turn}",
                turn=0,
                timestamp_s=time,
                delay_s=None,
                prompt_tokens=turns[place].prompt_tokens,
                output_tokens=self._generated(draws, index, turns[place]),
                chunks=turns[place].chunks,
            )
            for index, (place, time) in enumerate(zip(chosen, times, strict=True))
        )

    def _generated(self, draws: Draws, index: int, turn: Request) -> int:
        if self.output_tokens is None:
            return turn.output_tokens
        return draws.tokens(self.output_tokens, "output", index)
