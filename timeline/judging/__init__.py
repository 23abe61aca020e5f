"""What rules share: findings, how sure an order is, and facts about Kubernetes.

- For every rule: `rulebook` (rules and their settings), `findings`, `verdicts` (how sure an order is), `requests`,
  `advice` and `cleanup`.
- `coverage`: what each rule can judge in a source, and what to record so that it can judge more.
- `incidents`: what an incident is about, what caused it, and which changes that somebody meant came before.
- `references`: whether what an object needs or belongs to existed, and how long; the objects of one name.
- `copies`, `endpoints`, `jobs`, `leases`: about old copies, and about these kinds; `endpoints.consumers` reads logs.
- `activity`: what each actor of a source did.

Everything here is pure. Each rule is one file of `timeline.rules`; `timeline.judge` runs all of them.
"""
