// Settings and secrets of users.
import { LOCAL_USER } from '../access/principal.ts'
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { ProviderRegistry } from '../models/providers/registry.ts'
import { listSettingDefinitions } from '../settings/definitions.ts'
import { listSecretPurposes } from '../settings/secret-purposes.ts'
import { SecretService } from '../settings/secret-service.ts'
import { SettingsService } from '../settings/settings-service.ts'
import type { UserServices } from '../settings/user-services.ts'
import type { Foundation } from './foundation.ts'
import type { Storage } from './storage.ts'

/** The owner of the secrets of the environment. */
const OPERATOR: OwnerScope = { user_id: LOCAL_USER, workspace_id: null }

export async function composeUsers(
  { config, platform, redactor, log, registry }: Foundation,
  { store, catalogue, vault }: Storage,
  providers: ProviderRegistry,
): Promise<UserServices> {
  const types = listSettingDefinitions(config.job_timeout_seconds)
  const secrets = new SecretService({
    store,
    catalogue,
    vault,
    redactor,
    platform,
    log,
    purposes: listSecretPurposes(registry, providers.all()),
    provider_keys: config.provider_keys,
    operatorSecrets: ({ user_id, workspace_id }) =>
      user_id === OPERATOR.user_id && workspace_id === OPERATOR.workspace_id ? config.secrets : {},
  })
  // The redactor must know the secrets before anything stored is logged.
  await secrets.load()
  // The redactor adds these secrets for everybody, since no user may see them. For the local user, streamed text waits while it could be the start of
  // a secret.
  for (const secret of Object.values(config.secrets)) redactor.add(secret, ownerScopeKey(OPERATOR))
  return { settings: await SettingsService.open({ catalogue, platform, types }), secrets, redactor, vault }
}
