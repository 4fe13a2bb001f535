"""Documents of other formats that readers trip over: text, tables, pages, mails, books."""

from __future__ import annotations

from awkward.sample import Sample, zipped

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_ODF_SPACES = (
    " ".join(
        f'xmlns:{name}="{_ODF}{name}:1.0"'
        for name in ("office", "text", "table", "style", "number", "presentation")
    )
    + ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)

_MANIFEST = (
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" manifest:media-type="{}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)


def odf(kind: str, body: str, *, styles: str = "", automatic: str = "") -> bytes:
    """Return an OpenDocument file; ``kind`` is text, spreadsheet or presentation."""
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "META-INF/manifest.xml": _MANIFEST.format(f"application/vnd.oasis.opendocument.{kind}"),
            "content.xml": f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_ODF_SPACES}>'
            f"<office:automatic-styles>{automatic}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "styles.xml": f'<?xml version="1.0" encoding="UTF-8"?><office:document-styles {_ODF_SPACES}>'
            f"<office:master-styles>{styles}</office:master-styles></office:document-styles>",
        }
    )


def page(body: str, head: str = "") -> bytes:
    """Return a web page."""
    return f"<!doctype html><html><head><meta charset=utf-8>{head}</head><body>{body}</body></html>".encode()


def epub(*chapters: str) -> bytes:
    """Return a book, with these bodies."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(
        f'<item id="c{at}" href="c{at}.xhtml" media-type="application/xhtml+xml"/>'
        for at in numbers
    )
    spine = "".join(f'<itemref idref="c{at}"/>' for at in numbers)
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:'
            'container"><rootfiles><rootfile full-path="c.opf" media-type="application/oebps-package+xml"/>'
            "</rootfiles></container>",
            "c.opf": '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc='
            f'"http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title></metadata><manifest>{items}'
            f"</manifest><spine>{spine}</spine></package>",
        }
        | {
            f"c{at}.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>'
            f"{body}</body></html>"
            for at, body in zip(numbers, chapters, strict=True)
        }
    )


_PROSE = "The harbour office keeps a register of all ships that call here. " * 8

OTHERS = (
    Sample(
        name="signs.odt",
        data=odf("text",
            '<text:h text:outline-level="1">AT&amp;T &lt;2026&gt;</text:h>'
            "<text:p>Total<text:tab/>5,00<text:s text:c=\"2\"/>euros<text:line-break/>and <text:span>more</text:span></text:p>"
            '<text:p>The rent is <text:change-start text:change-id="c1"/>900<text:change-end text:change-id="c1"/> euros.</text:p>'
            "<table:table><table:table-row><table:table-cell><text:p>A&amp;B</text:p></table:table-cell>"
            '<table:table-cell table:number-columns-repeated="2"><text:p>twice</text:p></table:table-cell></table:table-row></table:table>'
            "<text:list><text:list-item><text:p>in a list</text:p></text:list-item></text:list>"
            '<text:p>Note<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
            "<text:note-body><text:p>Without the Kestrel works.</text:p></text:note-body></text:note>.</text:p>"
            "<text:p><draw:frame><draw:text-box><text:p>A box says nine.</text:p></draw:text-box></draw:frame></text:p>",
            styles='<style:master-page style:name="Standard"><style:header><text:p>Contract 4711</text:p></style:header>'
            "<style:footer><text:p>Confidential</text:p></style:footer></style:master-page>"),
        seen=("AT&T <2026>", "Total 5,00", "euros", "more", "The rent is 900 euros.", "A&B", "twice", "in a list",
              "Without the Kestrel works.", "A box says nine.", "Contract 4711", "Confidential"),
        once=("A box says nine.",),
    ),
    Sample(
        name="tracked.odt",
        data=odf("text",
            '<text:tracked-changes><text:changed-region text:id="c1"><text:deletion><office:change-info>'
            "<dc:creator>Ann</dc:creator></office:change-info><text:p>850 was struck</text:p></text:deletion>"
            '</text:changed-region></text:tracked-changes><text:p>The rent<text:change text:change-id="c1"/> is 900.</text:p>'
            "<text:p>Shown<office:annotation><dc:creator>Bert</dc:creator><text:p>Is this right?</text:p></office:annotation> again</text:p>"),
        seen=("The rent is 900.", "Shown again"),
        unseen=("850 was struck",),
        told=("comment",),
    ),
    Sample(
        name="table.ods",
        data=odf("spreadsheet",
            '<table:table table:name="Figures"><table:table-row><table:table-cell><text:p>Share</text:p></table:table-cell>'
            '<table:table-cell office:value-type="percentage" office:value="0.653"><text:p>65%</text:p></table:table-cell></table:table-row>'
            '<table:table-row><table:table-cell><text:p>Sum</text:p></table:table-cell>'
            '<table:table-cell office:value-type="currency" office:currency="USD" office:value="56701.03"><text:p>$56,701.03</text:p></table:table-cell></table:table-row>'
            '<table:table-row><table:table-cell><text:p>Day</text:p></table:table-cell>'
            '<table:table-cell office:value-type="date" office:date-value="2026-03-14"><text:p>2026-03-14</text:p></table:table-cell></table:table-row>'
            '<table:table-row><table:table-cell><text:p>Gate</text:p></table:table-cell>'
            '<table:table-cell office:value-type="time" office:time-value="PT09H30M00S"><text:p>09:30</text:p></table:table-cell></table:table-row>'
            '<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
            "</table:table>"
            '<table:table table:name="Back" table:style-name="h"><table:table-row><table:table-cell><text:p>Salaries</text:p></table:table-cell></table:table-row></table:table>',
            automatic='<style:style style:name="h" style:family="table"><style:table-properties table:display="false"/></style:style>'),
        seen=("Share", "65%", "$56,701.03", "2026-03-14", "09:30"),
        unseen=("Salaries",),
        told=("'Back'",),
    ),
    Sample(
        name="slides.odp",
        data=odf("presentation",
            '<draw:page draw:name="One"><draw:frame><draw:text-box><text:p>Harbour &amp; Sons</text:p></draw:text-box></draw:frame>'
            "<presentation:notes><draw:frame><draw:text-box><text:p>Say it slowly.</text:p></draw:text-box></draw:frame></presentation:notes>"
            '</draw:page><draw:page draw:name="Two"><draw:custom-shape><text:p>A shape says nine.</text:p></draw:custom-shape></draw:page>'),
        seen=("Harbour & Sons", "A shape says nine.", "Say it slowly."),
    ),
    Sample(
        name="book.epub",
        data=epub(
            "<nav><ol><li><a href='c1.xhtml'>Zeroth chapter</a></li></ol></nav>",
            "<h1>AT&amp;T &lt;2026&gt;</h1><p>R&amp;D found 5 &gt; 3.</p><figure><img src='x.png' alt='A gate'/>"
            "<figcaption>The gate of the Kestrel works</figcaption></figure><p hidden='hidden'>never shown</p>",
            "<h2>Table</h2><table><tr><th>Pier</th><th>Ship</th></tr><tr><td>North</td><td></td></tr></table>"
            "<ul><li>one</li><li>two<ol><li>inner</li></ol></li></ul><pre>a &lt; b\n  c</pre><dl><dt>term</dt><dd>what it is</dd></dl>",
        ),
        seen=("AT&T <2026>", "R&D found 5 > 3.", "The gate of the Kestrel works", "North", "one", "inner", "a < b",
              "term", "what it is"),
        unseen=("never shown",),
    ),
    Sample(
        name="letter.rtf",
        data=(
            r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}{\stylesheet{\s1 heading 1;}}{\info{\title The lease}{\author Ann}}"
            r"{\header Contract 4711}{\footer Confidential}"
            r"\pard R&D found 5 > 3 and x<y; caf\'e9, \u8364?5, \'80 7\par Total\tab 5,00\line next\par"
            r"{\v hidden words}Shown\~again\emdash yes \{braces\} C:\\dir\par"
            r"{\deleted struck words}{\*\generator Word;}"
            r"\trowd\cellx1000\cellx2000 North\cell Anna\cell\row\trowd\cellx1000\cellx2000 \cell Berta\cell\row"
            r"\pard See the note{\footnote Without the Kestrel works.}\par"
            r"{\field{\*\fldinst HYPERLINK x}{\fldrslt the plan}}\par{\pict\wmetafile8 0102}}"
        ).encode("cp1252"),
        seen=("R&D found 5 > 3 and x<y; café, €5, € 7", "Total 5,00", "next", "{braces} C:\\dir", "North", "Anna",
              "Berta", "Without the Kestrel works.", "the plan", "Contract 4711", "Confidential"),
        unseen=("hidden words", "HYPERLINK", "struck words"),
    ),
    Sample(
        name="page.html",
        data=page(
            f"<nav><a href=/>Home</a></nav><article><h1>AT&amp;T &lt;2026&gt;</h1><p>{_PROSE}</p>"
            "<figure><img src=x.png alt='A gate'><figcaption>The gate of the Kestrel works</figcaption></figure>"
            f"<div hidden>never shown one</div><div style='color:red; display: none'>never shown two</div>"
            f"<p style='display:none'>never shown three</p><p>R&amp;D found 5 &gt; 3 and x&lt;y. {_PROSE}</p>"
            "<table><tr><th>Pier</th><th>Ship</th></tr><tr><td>North</td><td></td></tr></table>"
            f"<details><summary>More of it</summary><p>Behind the fold. {_PROSE}</p></details>"
            "<pre><code>a &lt; b\n  c</code></pre><dl><dt>term</dt><dd>what it is</dd></dl></article>"),
        seen=("AT&T <2026>", "The gate of the Kestrel works", "R&D found 5 > 3 and x<y.", "North", "More of it",
              "Behind the fold.", "a < b", "term", "what it is"),
        unseen=("never shown",),
        told=("hidden",),
    ),
    Sample(
        name="short.html",
        data=page("<p>Gate code: 4711</p><p hidden>never shown</p><figure><figcaption>The gate</figcaption></figure>"
                  "<script>var x = 1</script><p style='visibility:hidden'>never shown</p><template>never shown</template>"),
        seen=("Gate code: 4711", "The gate"),
        unseen=("never shown", "var x"),
        told=("hidden",),
    ),
    Sample(
        name="mail.eml",
        data=(
            b"Subject: =?utf-8?q?R=26D_caf=C3=A9?=\r\nFrom: Ann <ann@example.com>\r\nMIME-Version: 1.0\r\n"
            b"Content-Type: multipart/alternative; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
            b"AT&T: 5 > 3\r\n--B\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>AT&amp;T: 5 &gt; 3</p>\r\n--B--\r\n"
        ),
        seen=("Subject: R&D café", "AT&T: 5 > 3"),
        once=("5 > 3",),
    ),
    Sample(
        name="excel.csv",
        data="sep=;\r\nArtikel;Region;Preis\r\nSchraube M6;Nord;0,12\r\nDübel 8 mm;Süd;0,07\r\n".encode("cp1252"),
        seen=("Artikel", "Schraube M6", "Dübel 8 mm", "0,07"),
        unseen=("sep=",),
    ),
    Sample(
        name="plain.txt",
        data=b"AT&T <2026>\ta\r\n\r\n5 > 3 & x<y\r\n",
        seen=("AT&T <2026>", "5 > 3 & x<y"),
    ),
    Sample(
        name="notes.md",
        data=b"# AT&T <2026>\n\n5 > 3 & x<y `a<b`\n\n<!-- a comment -->\n\n| a | b |\n|---|---|\n| 1 | |\n",
        seen=("AT&T <2026>", "5 > 3 & x<y", "| 1 | |"),
    ),
)  # fmt: skip
