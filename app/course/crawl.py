"""What machines read: the map of the site, the feed of what is new, and what they need not fetch.

All of it is made from a view of somebody who is not signed in, so it names nothing that a visitor could not open
and says nothing of an answer. Addresses are absolute; `origin` is the configured one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from xml.etree import ElementTree as ET

from app.course.access import View
from app.course.models import Item, Kind
from app.course.related import link_of

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
ATOM = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 50
PRIVATE = ("/search", "/submissions", "/progress", "/settings", "/sign-in", "/sign-up", "/unlock", "/api/")
WORDS = {Kind.CARD: "Concept", Kind.QUESTION: "Question", Kind.TRACK: "Track"}


def sitemap(view: View, origin: str) -> bytes:
    """Every page that is there for everybody, with the day it was published where that is known."""
    root = ET.Element("urlset", xmlns=SITEMAP)
    for path, day in _addresses(view):
        url = ET.SubElement(root, "url")
        ET.SubElement(url, "loc").text = origin + path
        if day is not None:
            ET.SubElement(url, "lastmod").text = day.isoformat()
    return _document(root)


def feed(view: View, origin: str) -> bytes:
    """The newest items as Atom: title, address, day and the open one-sentence summary."""
    dated = [(item.published, item) for item in _items(view) if item.published is not None]
    newest = sorted(dated, key=lambda pair: (-pair[0].toordinal(), pair[1].title))[:MOST_ENTRIES]
    root = ET.Element("feed", xmlns=ATOM)
    _texts(root, id=f"{origin}/feed.xml", title=view.snapshot.title)
    _texts(root, updated=_moment(newest[0][0] if newest else date(1970, 1, 1)))
    ET.SubElement(ET.SubElement(root, "author"), "name").text = view.snapshot.title
    ET.SubElement(root, "link", rel="self", type="application/atom+xml", href=f"{origin}/feed.xml")
    ET.SubElement(root, "link", rel="alternate", type="text/html", href=f"{origin}/")
    for day, item in newest:
        link = link_of(item)
        entry = ET.SubElement(root, "entry")
        _texts(entry, id=origin + link.href, title=f"{WORDS[link.kind]}: {item.title}", updated=_moment(day))
        ET.SubElement(entry, "link", rel="alternate", type="text/html", href=origin + link.href)
        _texts(entry, summary=item.summary)
    return _document(root)


def robots(origin: str) -> str:
    """Everything but what only its owner can open, and where the map is."""
    refused = "".join(f"Disallow: {path}\n" for path in PRIVATE)
    return f"User-agent: *\n{refused}\nSitemap: {origin}/sitemap.xml\n"


def _addresses(view: View) -> Iterator[tuple[str, date | None]]:
    yield from ((path, None) for path in ("/", "/tracks", "/drills", "/glossary"))
    yield from ((f"/topics/{name}", None) for name in view.topics)
    yield from ((link_of(item).href, item.published) for item in _items(view))
    yield from ((drill.link.href, None) for drill in view.drills.values())
    yield from ((f"/tags/{tag}", None) for tag in sorted({tag for item in _items(view) for tag in item.tags}))


def _items(view: View) -> Iterable[Item]:
    return (*view.cards.values(), *view.questions.values(), *view.tracks.values())


def _texts(parent: ET.Element, **texts: str) -> None:
    for name, text in texts.items():
        ET.SubElement(parent, name).text = text


def _moment(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


def _document(root: ET.Element) -> bytes:
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text
