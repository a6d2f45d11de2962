// What the jobs of this process share: stores, clocks, plans and memory accounts, and the services of each owner.
import type { OwnerScope } from '../db/owner-scope.ts'
import type { Store } from '../db/store.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { NodeServices } from '../engine/node-api/node-services.ts'
import type { ReserveCost } from '../engine/node-api/services/models.ts'
import type { ProcessMemoryAccount } from '../engine/runtime/run/memory-account.ts'
import type { EventLog } from '../events/log.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import type { Cipher } from '../vault/vault.ts'
import type { PlanCache } from '../workflows/plan-cache.ts'
import type { WorkflowService } from '../workflows/service.ts'
import type { FiringMemoryAccount } from './journal/firing-memory-account.ts'
import { JournalLoader } from './journal/loader.ts'
import type { OutputPublisher } from './outputs/publication.ts'
import { UnreadableJobs } from './recovery/unreadable-jobs.ts'
import type { RequestDigests } from './submission/request-digests.ts'
import type { SpilledValueStore } from './values/spilled-value-store.ts'
import { SteadyClock } from './waits/steady-clock.ts'

export interface JobContextParts {
  store: Store
  events: EventLog
  plans: PlanCache
  workflows: WorkflowService
  platform: Platform
  log: Log
  /** Encrypts job journals. */
  cipher: Cipher
  /** Protects the stored hashes of requests. */
  request_digests: RequestDigests
  /** Stores the large values of job journals. */
  spilled: SpilledValueStore
  /** The publisher that redacts and stores the values of an owner's jobs. */
  publisherOf: (owner: OwnerScope) => OutputPublisher
  /** The most bytes of values that a job may hold at once. */
  memory_limit: number
  /** The longest time limit of a new job, in seconds; null for none. */
  time_limit: number | null
  /** The account that the runs of all jobs share. */
  shared_memory: ProcessMemoryAccount & FiringMemoryAccount
  /** The services for the nodes of an owner's jobs. */
  servicesOf: (job: JobTable) => NodeServices
  /** Reserves the cost of model calls within a job's budget, given what it has paid in a currency. Absent: jobs have no budget. */
  budget?: (paid: (currency: string) => number) => ReserveCost | null
}

export interface JobContext extends JobContextParts {
  readonly steady: SteadyClock
  /** Deadlines by job key, for rows that may not have them yet. */
  readonly deadlines: Map<number, number>
  /** Runs long work in time slices of the owners. */
  readonly slices: TimeSliceScheduler
  /** Loads the journals of stored jobs. */
  readonly journals: JournalLoader
  /** The jobs that wait because a file cannot be read now. */
  readonly unreadableJobs: UnreadableJobs
}

export function createJobContext(parts: JobContextParts): JobContext {
  const { store, platform, plans, log } = parts
  return {
    ...parts,
    steady: new SteadyClock(store, platform),
    deadlines: new Map(),
    slices: plans.slices,
    journals: new JournalLoader(parts, plans.slices),
    unreadableJobs: new UnreadableJobs(log),
  }
}
