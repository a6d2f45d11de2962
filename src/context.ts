// What every door is handed: the services of one process, as one explicit argument.
import type { AuditLog } from './access/audit-log.ts'
import type { Authenticator } from './access/authenticator.ts'
import type { CredentialRechecker } from './access/credential-rechecker.ts'
import type { RateLimiter } from './access/rate-limiter.ts'
import type { TokenServices } from './access/tokens/token-services.ts'
import type { AssetStore } from './assets/asset-store.ts'
import type { FileLookup } from './assets/file-lookup.ts'
import type { FolderRemovals } from './assets/folder-removals.ts'
import type { PreviewScheduler } from './assets/previews/scheduler.ts'
import type { AssetService } from './assets/service.ts'
import type { StoredObjectService } from './assets/stored-object-service.ts'
import type { TemporaryStore } from './assets/temporary/store.ts'
import type { ChatService } from './chat/service.ts'
import type { CompletionService } from './completions/service.ts'
import type { WorkflowModelService } from './completions/workflow-models/service.ts'
import type { Config } from './config.ts'
import type { OwnerScope } from './db/owner-scope.ts'
import type { SealedCursors } from './db/sealed-cursors.ts'
import type { Store } from './db/store.ts'
import type { DownloadService } from './downloads/service.ts'
import type { NodeRegistry } from './engine/node-api/node-type.ts'
import type { EventLog } from './events/log.ts'
import type { FollowQuota } from './follow-quota.ts'
import type { RetentionSweeper } from './jobs/retention.ts'
import type { JobService } from './jobs/service.ts'
import type { PreflightService } from './lifecycle/preflight/service.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { BillingContext } from './models/billing/billing-context.ts'
import type { SpendingLedger } from './models/billing/spending-ledger.ts'
import type { ModelService } from './models/calls/model-service.ts'
import type { ModelListCache } from './models/catalogue/model-list-cache.ts'
import type { ProviderRegistry } from './models/providers/registry.ts'
import type { OwnRequestDetector } from './net/own-request-detector.ts'
import type { ResponseBuffers } from './net/response-buffers.ts'
import type { UploadStallDetector } from './net/upload-stall-detector.ts'
import type { PayloadValidator } from './payloads/payload-validator.ts'
import type { Platform } from './platform.ts'
import type { Redactor } from './redaction/redactor.ts'
import type { SecretService } from './settings/secret-service.ts'
import type { SettingsService } from './settings/settings-service.ts'
import type { TimeSliceScheduler } from './shared/time-slices.ts'
import type { Vault } from './vault/vault.ts'
import type { WorkflowService } from './workflows/service.ts'

export interface AppContext {
  readonly config: Config
  readonly log: Log
  readonly platform: Platform
  /** Does long work of the main thread in short slices. */
  readonly slices: TimeSliceScheduler
  /** The same for whoever reads much that is stored: many of them share each turn, and none waits behind what its owner has in `slices`. */
  readonly reading: TimeSliceScheduler
  /** Judges large bodies and frames in a thread of its own. */
  readonly payloads: PayloadValidator
  /** What waits for readers of large answers. */
  readonly held: ResponseBuffers
  /** What sockets follow. */
  readonly followed: FollowQuota
  readonly followed_threads: FollowQuota
  /** What is served or logged goes through it. */
  readonly redactor: Redactor
  /** Of lists in the order of keys. */
  readonly cursors: SealedCursors
  /** What is stored and never served is sealed by it. */
  readonly vault: Vault
  /** Counts requests and upgrades by their caller's address, before `principalOf` is asked. */
  readonly limiter: RateLimiter
  /** Where the log is told what callers with rights did, and who was refused. */
  readonly audit: AuditLog
  readonly tokens: TokenServices
  /** Who makes a request or asks for a socket, or why the caller is refused. */
  readonly principalOf: Authenticator
  /** Asks again about the credentials of whoever keeps a socket or a stream open. */
  readonly rechecks: CredentialRechecker
  readonly store: Store
  /** Of users. */
  readonly secrets: SecretService
  /** Of users; the operator's are the config. */
  readonly settings: SettingsService
  readonly assets: AssetStore
  /** Of callers: lists, folders, and what is made and changed. */
  readonly library: AssetService
  /** Looks at what they hold, for small pictures and facts. */
  readonly previews: PreviewScheduler
  readonly folder_removals: FolderRemovals
  /** What callers put under keys of their own. */
  readonly objects: StoredObjectService
  /** What callers uploaded for their runs. */
  readonly temporary: TemporaryStore
  /** All of them, by the addresses of what they keep. */
  readonly files: FileLookup
  /** Holds uploads to a pace, which may take longer than other requests. */
  readonly upload_pace: UploadStallDetector
  /** Knows requests that this process sends for users, where they come back to it. */
  readonly own_requests: OwnRequestDetector
  readonly registry: NodeRegistry
  /** Of models. */
  readonly providers: ProviderRegistry
  /** What each of them lists. */
  readonly listings: ModelListCache
  /** Asks them. */
  readonly models: ModelService
  /** Of files of models. */
  readonly downloads: DownloadService
  /** With whose keys, and at whose cost, a caller asks models. */
  customerOf(owner: OwnerScope): BillingContext
  /** What they have cost. */
  readonly ledger: SpendingLedger
  /** Answers conversations, with models and with workflows. */
  readonly completions: CompletionService
  /** Which workflows are models. */
  readonly workflow_models: WorkflowModelService
  /** Threads, and the turns that are under way in them. */
  readonly chat: ChatService
  readonly events: EventLog
  readonly workflows: WorkflowService
  readonly jobs: JobService
  /** Whether a run could be started, for doors and submissions. */
  readonly preflight: PreflightService
  readonly retention: RetentionSweeper
  readonly metrics: Metrics
  /** Aborts when what is still open must come to its end. */
  readonly stopping: AbortSignal
  /** Milliseconds since the epoch. */
  readonly started_at: number
}
