"""These tests check that the settings name only tasks which a worker knows."""

from dashboard.celery import app


def test_what_is_scheduled_or_routed_is_a_task_and_expires_before_the_next_message() -> None:
    app.loader.import_default_modules()
    for entry in app.conf.beat_schedule.values():
        assert entry["options"]["expires"] <= entry["schedule"]
        assert app.tasks[entry["task"]].name == entry["task"]
    assert set(app.conf.task_routes) <= set(app.tasks)
