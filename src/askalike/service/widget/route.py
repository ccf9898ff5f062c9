"""`widget.js`, which a page of any site includes with one tag, and `formulas.js`, which it loads to draw formulas."""

from hashlib import sha256

from fastapi import APIRouter, Request, Response

from askalike.service.widget import SCRIPTS, load_script

SCRIPT_TYPE = "text/javascript; charset=utf-8"
MAX_AGE_S = 3_600

router = APIRouter(tags=["widget"])


@router.get(
    "/widget.js",
    summary="Load the widget",
    response_class=Response,
    responses={200: {"content": {"text/javascript": {}}}},
)
async def get_widget(request: Request) -> Response:
    """Return the script. Anybody may load it; it contains no secret."""
    return _reply(request, load_script())


@router.get("/formulas.js", include_in_schema=False)
async def get_formulas(request: Request) -> Response:
    """Return the script that draws the formulas of the widget's list."""
    return _reply(request, (SCRIPTS / "formulas.js").read_bytes())


def _reply(request: Request, script: bytes) -> Response:
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
