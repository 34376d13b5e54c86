"""What to do next, and why: one path for the home page, for cards and questions, and for verdicts.

The way is walked track by track, then along topics, and what lies off every way is ranked by overlap with where the
reader is. Before each step come the cards and drills that it needs. What is locked comes after what is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.course.access import View
from app.course.models import Item, Kind, Link, Question, Track
from app.course.related import related

Done = frozenset[Link]


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do, and in a few words why it is next."""

    link: Link
    why: str


def ahead(view: View, done: Done, at: Link | None = None, limit: int = 3) -> tuple[Step, ...]:
    """The next steps of somebody who has done `done` and is at `at`: the first goes on from there, the others begin
    other ways, each once.
    """
    opened: dict[Link, Step] = {}
    locked: dict[Link, Step] = {}
    for way in _ways(view, done, at):
        for step in way:
            chosen = _first_needed(view, done, step)
            if chosen.link in opened or chosen.link in done or chosen.link == at:
                continue
            if closed(view, chosen.link):
                locked.setdefault(chosen.link, chosen)
                continue
            opened[chosen.link] = chosen
            break  # one of each way: its next step follows when this one is done
        if len(opened) == limit:
            break
    return (*opened.values(), *locked.values())[:limit]


def closed(view: View, link: Link) -> bool:
    """Whether the reader cannot make use of an item yet: its answer, or work on it, is locked."""
    if link.kind is Kind.DRILL:
        return not view.may_work_on(link.id)
    question = view.questions.get(link.id) if link.kind is Kind.QUESTION else None
    return question is not None and not view.may_read_answer(question)


def _ways(view: View, done: Done, at: Link | None) -> Iterator[Iterator[Step]]:
    """The ways to go on, the closest first, each as what is still to do on it in order."""
    tracks = list(view.tracks.values())
    holding = [track for track in tracks if at is not None and (at in track.steps or track.link == at)]
    begun = [track for track in tracks if track not in holding and done & frozenset(track.steps)]
    rest = [track for track in tracks if track not in holding and track not in begun]
    here = view.item(at) if at is not None else None
    yield from (_along(view, track, done, at) for track in holding)
    if here is not None:
        yield _shelf(view, here.topic, done, at)
        yield _beside(view, here, done)
    yield from (_along(view, track, done, at) for track in begun)
    yield from (_along(view, track, done, at) for track in rest)
    yield from (_shelf(view, topic, done, at) for topic in view.topics)


def _along(view: View, track: Track, done: Done, at: Link | None) -> Iterator[Step]:
    begun = bool(done & frozenset(track.steps)) or at in track.steps
    why = f"next in {track.title}" if begun else f"begins {track.title}"
    yield from (Step(link, why) for link in _from_here(track.steps, at) if _to_do(view, link, done))


def _shelf(view: View, topic: str, done: Done, at: Link | None) -> Iterator[Step]:
    shelf = view.topics[topic]
    links = [
        *(Link(Kind.CARD, name) for name in shelf.cards),
        *(Link(Kind.QUESTION, name) for name in shelf.questions),
    ]
    why = f"next in {shelf.name}"
    yield from (Step(link, why) for link in _from_here(links, at) if _to_do(view, link, done))


def _beside(view: View, here: Item, done: Done) -> Iterator[Step]:
    for item in related(view, here):
        link = _link(item)
        shared = sorted(set(here.tags) & set(item.tags))
        if link.kind is not Kind.TRACK and _to_do(view, link, done):
            yield Step(link, f"also about {shared[0]}" if shared else f"builds on {here.title}")


def _from_here(links: Sequence[Link], at: Link | None) -> list[Link]:
    """What comes after `at`, then what was skipped before it."""
    place = links.index(at) + 1 if at in links else 0
    return [*links[place:], *links[:place]]


def _first_needed(view: View, done: Done, step: Step) -> Step:
    """The step itself, or what must be read or passed before it; one level of need is walked at a time."""
    seen = {step.link}
    while True:
        missing = next((n for n in _needs(view, step.link) if n not in done and n not in seen), None)
        if missing is None:
            return step
        seen.add(missing)
        verb = "passed" if missing.kind is Kind.DRILL else "read"
        step = Step(missing, f"to be {verb} before {title_of(view, step.link)}")


def _needs(view: View, link: Link) -> list[Link]:
    if link.kind is Kind.DRILL:
        drill = view.drills.get(link.id)
        return [] if drill is None else [Link(Kind.DRILL, need) for need in drill.needs if need in view.drills]
    item = view.item(link)
    return [] if item is None else [need for need in item.requires if view.item(need) is not None]


def title_of(view: View, link: Link) -> str:
    """What an item is called; its id when the reader may not know of it."""
    if link.kind is Kind.DRILL:
        return view.drills[link.id].title if link.id in view.drills else link.id
    item = view.item(link)
    return link.id if item is None else item.title


def _to_do(view: View, link: Link, done: Done) -> bool:
    there = view.item(link) is not None or (link.kind is Kind.DRILL and link.id in view.drills)
    return there and link not in done


def _link(item: Item) -> Link:
    kind = Kind.QUESTION if isinstance(item, Question) else Kind.TRACK if isinstance(item, Track) else Kind.CARD
    return Link(kind, item.id)
