"""Registers FlowForge with Metaflow: commands, the Deployer, and the provider of secrets."""

CLIS_DESC = [("flowforge", ".flowforge.cli.cli")]
STEP_DECORATORS_DESC = [("flowforge_internal", ".flowforge.decorator.FlowForgeInternalDecorator")]
SECRETS_PROVIDERS_DESC = [("flowforge", ".flowforge.secrets.FlowForgeSecretsProvider")]
DEPLOYER_IMPL_PROVIDERS_DESC = [("flowforge", ".flowforge.deployer.FlowForgeDeployer")]
