// What every door is handed: the services of one process, as one explicit argument.
import type { Audit } from './access/audit.ts'
import type { Gate } from './access/gate.ts'
import type { RateLimiter } from './access/limiter.ts'
import type { Rechecks } from './access/recheck.ts'
import type { Tokens } from './access/token-checks.ts'
import type { Assets } from './assets/assets.ts'
import type { Files } from './assets/files.ts'
import type { FolderRemovals } from './assets/folder-removals.ts'
import type { Library } from './assets/library.ts'
import type { StoredObjects } from './assets/objects.ts'
import type { Previews } from './assets/previews.ts'
import type { TemporaryStore } from './assets/temporary.ts'
import type { Chat } from './chat/chat.ts'
import type { Completions } from './completions/completions.ts'
import type { WorkflowModels } from './completions/workflow-models.ts'
import type { Config } from './config.ts'
import type { Scope } from './db/scope.ts'
import type { Store } from './db/store.ts'
import type { Downloads } from './downloads/downloads.ts'
import type { NodeRegistry } from './engine/node-type.ts'
import type { EventLog } from './events/log.ts'
import type { Followed } from './followed.ts'
import type { HeldAnswers } from './held-answers.ts'
import type { Retention } from './jobs/retention.ts'
import type { JobService } from './jobs/service.ts'
import type { Preflight } from './lifecycle/preflight.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Customer } from './models/customer.ts'
import type { Ledger } from './models/ledger.ts'
import type { Listings } from './models/listings.ts'
import type { Models } from './models/models.ts'
import type { Providers } from './models/providers.ts'
import type { OwnRequests } from './net/own-requests.ts'
import type { UploadPace } from './net/upload-pace.ts'
import type { PayloadJudge } from './payloads/payload-judge.ts'
import type { Platform } from './platform.ts'
import type { Redactor } from './redaction/redactor.ts'
import type { SealedCursors } from './sealed-cursors.ts'
import type { Secrets } from './settings/secrets.ts'
import type { Settings } from './settings/settings.ts'
import type { TimeSlices } from './time-slices.ts'
import type { Vault } from './vault/vault.ts'
import type { WorkflowService } from './workflows/service.ts'

export interface AppContext {
  readonly config: Config
  readonly log: Log
  readonly platform: Platform
  /** Does long work of the main thread in short slices. */
  readonly slices: TimeSlices
  /** The same for whoever reads much that is stored: many of them share each turn, and none waits behind what its owner has in `slices`. */
  readonly reading: TimeSlices
  /** Judges large bodies and frames in a thread of its own. */
  readonly payloads: PayloadJudge
  /** What waits for readers of large answers. */
  readonly held: HeldAnswers
  /** What sockets follow. */
  readonly followed: Followed
  readonly followed_threads: Followed
  /** What is served or logged goes through it. */
  readonly redactor: Redactor
  /** Of lists in the order of keys. */
  readonly cursors: SealedCursors
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
  /** Of callers: lists, folders, and what is made and changed. */
  readonly library: Library
  /** Looks at what they hold, for small pictures and facts. */
  readonly previews: Previews
  readonly folder_removals: FolderRemovals
  /** What callers put under keys of their own. */
  readonly objects: StoredObjects
  /** What callers uploaded for their runs. */
  readonly temporary: TemporaryStore
  /** All of them, by the addresses of what they keep. */
  readonly files: Files
  /** Holds uploads to a pace, which may take longer than other requests. */
  readonly upload_pace: UploadPace
  /** Knows requests that this process sends for users, where they come back to it. */
  readonly own_requests: OwnRequests
  readonly registry: NodeRegistry
  /** Of models. */
  readonly providers: Providers
  /** What each of them lists. */
  readonly listings: Listings
  /** Asks them. */
  readonly models: Models
  /** Of files of models. */
  readonly downloads: Downloads
  /** With whose keys, and at whose cost, a caller asks models. */
  customerOf(owner: Scope): Customer
  /** What they have cost. */
  readonly ledger: Ledger
  /** Answers conversations, with models and with workflows. */
  readonly completions: Completions
  /** Which workflows are models. */
  readonly workflow_models: WorkflowModels
  /** Threads, and the turns that are under way in them. */
  readonly chat: Chat
  readonly events: EventLog
  readonly workflows: WorkflowService
  readonly jobs: JobService
  /** Whether a run could be started, for doors and submissions. */
  readonly preflight: Preflight
  readonly retention: Retention
  readonly metrics: Metrics
  /** Aborts when what is still open must come to its end. */
  readonly stopping: AbortSignal
  /** Milliseconds since the epoch. */
  readonly started_at: number
}
