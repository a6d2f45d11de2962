// What the service keeps for each user beside their work: settings and secrets, and what protects these.
import type { Redactor } from '../redaction/redactor.ts'
import type { Vault } from '../vault/vault.ts'
import type { SecretService } from './secret-service.ts'
import type { SettingsService } from './settings-service.ts'

export interface UserServices {
  /** Settings of users; the operator's settings are in `config`. */
  readonly settings: SettingsService
  readonly secrets: SecretService
  /** Redacts everything that is served or logged. */
  readonly redactor: Redactor
  /** Encrypts stored data that is never served. */
  readonly vault: Vault
}
