"""`widget.js`: shows similar questions below a field of any site, which includes it with one script tag."""

import re
from functools import cache
from hashlib import sha256

from fastapi import APIRouter, Request, Response

from askalike.service.scripts import SCRIPTS, build_widget

SCRIPT_TYPE = "text/javascript; charset=utf-8"
MAX_AGE_S = 3_600

SPACED_OPERATOR = re.compile(r"""("[^"\n]*"|`[^`]*`|/\S+/u)| *(=>|[=?:,{}()&|<>]+|[+-](?! *[+-])) *""")
"""A literal, which is kept, or an operator with the spaces around it."""
ONE_PARAMETER = re.compile(r"(?<=\W)\((\w+)\)=>")
NEEDLESS_BREAK = re.compile(r",?\n(?=[\]})])|([\[{(,])\n")
"""A line break that does not end a statement, and a comma that nothing follows; the other breaks are kept."""

router = APIRouter(tags=["widget"])


@router.get(
    "/widget.js",
    summary="Load the widget",
    response_class=Response,
    responses={200: {"content": {"text/javascript": {}}}},
)
async def get_widget(request: Request) -> Response:
    """Return the script. Anybody may load it; it contains no secret."""
    script = load_script()
    etag = f'"{sha256(script).hexdigest()[:16]}"'
    headers = {
        "etag": etag,
        "cache-control": f"public, max-age={MAX_AGE_S}",
        "cross-origin-resource-policy": "cross-origin",
        "access-control-allow-origin": "*",
    }
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(script, headers=headers, media_type=SCRIPT_TYPE)


@cache
def load_script() -> bytes:
    """Return the minified script: without comments, and needless white space and brackets."""
    text = build_widget(SCRIPTS / "widget.js")
    lines = (line.strip() for line in text.splitlines())
    script = "".join(f"{line}\n" for line in lines if line and not line.startswith("//"))
    script = SPACED_OPERATOR.sub(lambda match: match[1] or match[2], script)
    return ONE_PARAMETER.sub(r"\1=>", NEEDLESS_BREAK.sub(r"\1", script)).encode()
