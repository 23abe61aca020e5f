"""Read MutatingWebhookConfigurations, whose facts are the same as those of ValidatingWebhookConfigurations."""

from timeline.kinds.admission import validating_webhook_configuration

KIND = validating_webhook_configuration.KIND._replace(kind="MutatingWebhookConfiguration", short="mwc")
