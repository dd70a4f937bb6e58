"""Noise in a template is text or a TemplateError: no other exception, no dead parent process."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.goals.template import TemplateError, render

FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))
NOISE = st.text(alphabet="{}%#-_.|()[]'\"~=<>!+*/ \nabcdefioltnsr0123456789", max_size=80)


@settings(max_examples=30 * FUZZ, deadline=None)
@given(NOISE, st.sampled_from(["%s", "{{ %s }}", "{%% if %s %%}x{%% endif %%}"]))
def test_noise_is_text_or_a_template_error(noise: str, form: str) -> None:
    try:
        assert isinstance(render(form % noise, {"a": 1, "b": ["x"]}), str)
    except TemplateError as error:
        assert str(error).startswith("template 'prompt'")
