"""On these pages administrators see who may do what, and why, give roles to people and groups, and take them away."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Q
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from dashboard.access.roles import giving, grants, needs
from dashboard.access.trail import change_log
from dashboard.models import Grant
from dashboard.presentation.people import grants as words
from dashboard.web import choices
from timeline.core.numbers import whole_number

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

PAGE = 50  # people or groups on one page
_LONGEST = 150  # characters of the name of a person or a group


@needs.to_read("admin", "everything", action="list")
@needs.to_change("admin", "everything", action="grant")
@never_cache
def show_access(request: "HttpRequest") -> "HttpResponse":
    """Show people or groups with their roles, or one person or group with the reasons; answer a form that gives a
    role."""
    _only_with_accounts()
    problem = ""
    if request.method == "POST":
        try:
            grant = _give(request)
            return redirect(f"{reverse('access')}?{urlencode(_named(giving.holder_of(grant)))}")
        except giving.GrantRefused as error:
            problem = str(error)
    form = request.POST if problem else request.GET
    name, is_group = (form["group"], True) if form.get("group") else (form.get("person", ""), False)
    context = {
        "problem": problem,
        "form": {each: form.get(each, "") for each in ("name", "kind", "role", "on", "namespaces")},
        "meanings": [(str(role), meaning) for role, meaning in words.MEANINGS.items()],
        **choices.offered(),
        "default": settings.DEFAULT_ROLE,
        **(_one(name, is_group=is_group) if name else _list(request)),
    }
    template = "access_of.html" if name else "access.html"
    return render(request, template, context, status=400 if problem else 200)


@needs.to_read("admin", "everything", action=None)
@needs.to_change("admin", "everything", action="revoke")
@never_cache
def take_role(request: "HttpRequest", number: int) -> "HttpResponse":
    """Ask whether a role is to be taken away, and take it away when that was answered."""
    _only_with_accounts()
    grant = Grant.objects.select_related("user", "group", "cluster", "source").filter(pk=number).first()
    if grant is None:
        raise Http404("There is no such grant: it was taken away already.")
    of, problem = giving.holder_of(grant), ""
    back, name = f"{reverse('access')}?{urlencode(_named(of))}", giving.name_of(of)
    if request.method == "POST":
        try:
            if taken := giving.take(number):
                change_log.about(request, **giving.described(taken))
            own = grants.held_by(User.objects.get(username=request.user.get_username()))  # as it is now
            return redirect(back if grants.reaches(own.everywhere, Grant.Role.ADMIN) else "home")
        except giving.GrantRefused as error:
            problem = str(error)
    context = {
        "verb": "Take away",
        "name": f"{grant.role} of {name}",
        "problem": problem,
        "back": back,
        "sentences": [
            f"{name} is {words.in_words(grant)}, {words.reason(grant).why}.",
            "Roles by groups, and on other things, stay.",
        ],
        "final": "Access",
    }
    return render(request, "delete.html", context, status=409 if problem else 200)


@transaction.atomic  # so that no group is made for a role that is refused
def _give(request: "HttpRequest") -> Grant:
    """Give the role that a form asks for. Raises Refused."""
    form = request.POST
    name = (form.get("group") or form.get("person") or form.get("name", "")).strip()
    is_group = bool(form.get("group")) or (not form.get("person") and form.get("kind") == "group")
    if not name:
        raise giving.GrantRefused("Say to whom the role is given.")
    try:
        on = choices.chosen(form.get("on", ""))
    except ObjectDoesNotExist:
        raise giving.GrantRefused("What the role is on does not exist any more. Choose again.") from None
    grant = giving.give(
        giving.group_to_be(name) if is_group else giving.holder(name),
        form.get("role", ""),
        change_log.who(request),
        on=on,
        namespaces=form.get("namespaces", "").replace(",", " ").split(),
    )
    change_log.about(request, **giving.described(grant))
    return grant


def _one(name: str, *, is_group: bool) -> dict[str, Any]:
    """Return what the page of one person or group shows."""
    try:
        found = giving.holder(name, group=is_group)
    except giving.GrantRefused as error:
        raise Http404(str(error)) from None
    if isinstance(found, Group):
        members = found.user_set.order_by("username").values_list("username", flat=True)[: PAGE + 1]
        return {"held": words.groups([found])[0], "members": members[:PAGE], "more": len(members) > PAGE}
    return {"held": words.people([found])[0]}


def _list(request: "HttpRequest") -> dict[str, Any]:
    """Return what the list shows: a page of people, or of groups, whose name contains what is looked for."""
    asked = request.GET.get("find", "").strip()[:_LONGEST]
    page = whole_number(request.GET.get("page", ""), digits=6) or 1
    is_group = request.GET.get("show") == "groups"
    found = [] if "\0" in asked else (_groups if is_group else _people)(asked, page)
    kept = {"find": asked, "show": "groups" if is_group else ""}
    given = {key: value for key, value in kept.items() if value}
    return {
        "asked": asked,
        "shows_groups": is_group,
        "holders": found[:PAGE],
        "before": f"?{urlencode(given | {'page': page - 1})}" if page > 1 else "",
        "after": f"?{urlencode(given | {'page': page + 1})}" if len(found) > PAGE else "",
        "page": page,
        "by_provider": not _local_administrators(),
    }


def _people(asked: str, page: int) -> list[words.Holder]:
    names = Q(username__icontains=asked) | Q(first_name__icontains=asked) | Q(last_name__icontains=asked)
    found = User.objects.filter(names | Q(email__icontains=asked)).order_by("username")
    return words.people(found[(page - 1) * PAGE : page * PAGE + 1])


def _groups(asked: str, page: int) -> list[words.Holder]:
    found = Group.objects.filter(name__icontains=asked).order_by("name")
    return words.groups(found[(page - 1) * PAGE : page * PAGE + 1])


def _local_administrators() -> bool:
    """Return whether somebody is an administrator by a grant of their own, which no provider can take away."""
    own = Grant.objects.filter(role=Grant.Role.ADMIN, cluster=None, source=None, user__is_active=True)
    return own.exists()


def _named(of: User | Group) -> dict[str, str]:
    return {"group" if isinstance(of, Group) else "person": giving.name_of(of)}


def _only_with_accounts() -> None:
    if not settings.LOGIN_REQUIRED:
        raise Http404("There are no accounts, so there are no roles of people.")
