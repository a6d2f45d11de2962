// What every door is handed: the services of one process, as one explicit argument.
import type { Audit } from './access/audit.ts'
import type { Gate } from './access/gate.ts'
import type { RateLimiter } from './access/limiter.ts'
import type { Rechecks } from './access/recheck.ts'
import type { Tokens } from './access/token-checks.ts'
import type { Assets } from './assets/assets.ts'
import type { Config } from './config.ts'
import type { Store } from './db/store.ts'
import type { NodeRegistry } from './engine/node-type.ts'
import type { EventLog } from './events/log.ts'
import type { Retention } from './jobs/retention.ts'
import type { JobService } from './jobs/service.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Platform } from './platform.ts'
import type { Redactor } from './redaction/redactor.ts'
import type { Secrets } from './settings/secrets.ts'
import type { Settings } from './settings/settings.ts'
import type { Vault } from './vault/vault.ts'
import type { WorkflowService } from './workflows/service.ts'

export interface AppContext {
  readonly config: Config
  readonly log: Log
  readonly platform: Platform
  /** What is served or logged goes through it. */
  readonly redactor: Redactor
  /** What is stored and never served is sealed by it. */
  readonly vault: Vault
  /** Counts requests and upgrades by their caller's address, before `principalOf` is asked. */
  readonly limiter: RateLimiter
  /** Where the log is told what callers with rights did, and who was refused. */
  readonly audit: Audit
  readonly tokens: Tokens
  /** Who makes a request or asks for a socket, or why the caller is refused. */
  readonly principalOf: Gate
  /** Asks again about the credentials of whoever keeps a socket or a stream open. */
  readonly rechecks: Rechecks
  readonly store: Store
  /** Of users. */
  readonly secrets: Secrets
  /** Of users; the operator's are the config. */
  readonly settings: Settings
  readonly assets: Assets
  readonly registry: NodeRegistry
  readonly events: EventLog
  readonly workflows: WorkflowService
  readonly jobs: JobService
  readonly retention: Retention
  readonly metrics: Metrics
  /** Aborts when what is still open must come to its end. */
  readonly stopping: AbortSignal
  /** Milliseconds since the epoch. */
  readonly started_at: number
}
