// Runs of workflows: plans, jobs, their events, preflights, and the end of what is kept.
import { createAssetLoader } from '../assets/asset-reference-loader.ts'
import { createJobAssetAccess } from '../assets/job-asset-access.ts'
import type { Config } from '../config.ts'
import type { AppContext, RunServices } from '../context.ts'
import { ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import { readRequestKeys } from '../db/request-keys.ts'
import type { JobTable } from '../db/tables/jobs.ts'
import type { NodeServices } from '../engine/node-api/node-services.ts'
import { EventLog } from '../events/log.ts'
import { registerJobEndMetrics } from '../jobs/metrics.ts'
import { createOutputPublisher } from '../jobs/outputs/publisher.ts'
import { RetentionSweeper } from '../jobs/retention.ts'
import { JobService } from '../jobs/service.ts'
import { readEndSnapshot } from '../jobs/snapshot.ts'
import { RequestDigests } from '../jobs/submission/request-digests.ts'
import { AvailabilityProbes } from '../lifecycle/preflight/probes.ts'
import { PreflightService } from '../lifecycle/preflight/service.ts'
import { LIMIT_CURRENCY } from '../models/billing/spending-limit.ts'
import { FairMemoryAccount, heapShareBytes, RUNS_HEAP_FRACTION } from '../payloads/fair-memory-account.ts'
import { TimeSliceScheduler } from '../shared/time-slices.ts'
import { RedactedVectors } from '../vectors/redacted-vectors.ts'
import { VectorStore } from '../vectors/vector-store.ts'
import { PlanCache } from '../workflows/plan-cache.ts'
import { WorkflowService } from '../workflows/service.ts'
import { createToolAccess, createWorkflowLookup } from '../workflows/tools/access.ts'
import { listFileSweeps } from './assets.ts'
import type { Foundation } from './foundation.ts'
import type { Billing, ModelCalls } from './models.ts'
import type { NodeServiceFactory } from './node-services.ts'
import type { Storage } from './storage.ts'

export interface RunParts extends Pick<AppContext, 'assets' | 'transport' | 'users'> {
  readonly storage: Storage
  readonly model_calls: ModelCalls
  readonly billing: Billing
  readonly node_services: NodeServiceFactory
}

export function composeRuns(foundation: Foundation, parts: RunParts): RunServices {
  const { overrides, platform, redactor, log, registry, publicUrl } = foundation
  const { slices } = foundation.schedulers
  const { store, cursors } = parts.storage
  const plans = new PlanCache(store, registry, slices, parts.transport.payloads.memory, parts.node_services.workers)
  const workflows = new WorkflowService(store, plans, platform, publicUrl)
  const events = new EventLog(store, (job_key) => readEndSnapshot({ store, slices }, job_key), overrides.max_job_events)
  const jobs = createJobService(foundation, parts, { plans, workflows, events })
  const preflight = createPreflight(foundation, parts, { workflows, jobs })
  const retention = createRetention(foundation, parts, jobs)
  return { store, cursors, slices, redactor, log, registry, workflows, jobs, events, preflight, retention }
}

interface JobParts extends Pick<RunServices, 'workflows' | 'events'> {
  readonly plans: PlanCache
}

function createJobService(foundation: Foundation, parts: RunParts, services: JobParts): JobService {
  const { config, overrides, platform, redactor, log, metrics } = foundation
  const { assets, billing, users, storage } = parts
  const { store, vault, spilled } = storage
  return new JobService({
    ...services,
    store,
    platform,
    log,
    limits: jobLimits(config),
    defaultsOf: (owner) => users.settings.runDefaults(owner),
    memory_limit: config.max_job_memory_bytes,
    time_limit: config.job_timeout_seconds,
    shared_memory: overrides.shared_memory ?? new FairMemoryAccount(heapShareBytes(RUNS_HEAP_FRACTION)),
    servicesOf: createServiceLookup(foundation, parts, services.workflows),
    budget: (paid) => billing.budgets.createJobHold(() => paid(LIMIT_CURRENCY)),
    onEnded: registerJobEndMetrics(metrics),
    cipher: vault.cipher('journal'),
    request_digests: new RequestDigests(store.read((tx) => readRequestKeys(tx, vault, log))),
    spilled,
    publisherOf: (owner) =>
      createOutputPublisher(redactor.forOwner(ownerScopeKey(owner)), {
        assets: assets.store,
        temporary: assets.temporary,
      }),
  })
}

function jobLimits(config: Config) {
  return {
    running: config.max_concurrent_jobs,
    running_per_user: config.max_jobs_per_user,
    running_per_workflow: config.max_runs_per_workflow,
    waiting: config.max_queued_jobs,
  }
}

/** The function that gives the nodes of a job their services. */
function createServiceLookup(
  { platform, redactor, registry, schedulers: { slices }, publicUrl }: Foundation,
  { assets, billing, node_services, storage: { store }, users: { secrets } }: RunParts,
  workflows: WorkflowService,
): (job: JobTable) => NodeServices {
  const { contents, files, previews } = assets
  // A search of a large index takes a second or two. Other work of its owner must not wait for it.
  const vector_slices = new TimeSliceScheduler()
  return (job) => {
    const user = userShareKey(job)
    const own_redactor = redactor.forOwner(ownerScopeKey(job))
    const vectors = new VectorStore(job, { store, platform, slices: vector_slices })
    return node_services.forOwner({
      owner: user,
      secret: (name) => secrets.value(job, name),
      billing: billing.billingOf(job),
      assets: {
        ...createAssetLoader(files, job, publicUrl),
        ...createJobAssetAccess({ store, slices, contents, platform, previews }, job),
      },
      vectors: new RedactedVectors({ vectors, redactor: own_redactor, slices: vector_slices, user }),
      tools: createToolAccess({ registry, workflow: createWorkflowLookup(workflows, job, registry) }),
      redact: (text) => own_redactor.text(text),
      redactTexts: (texts) => vector_slices.run(user, own_redactor.valueSteps(texts)),
    })
  }
}

function createPreflight(
  { overrides, log, registry, schedulers: { reading }, publicUrl }: Foundation,
  { assets, billing: { budgets }, model_calls: { providers, model_lists }, users: { secrets } }: RunParts,
  services: Pick<RunServices, 'workflows' | 'jobs'>,
): PreflightService {
  return new PreflightService({
    ...services,
    registry,
    log,
    publicUrl,
    providers,
    probes: new AvailabilityProbes({ model_lists, log }),
    credentials: secrets,
    provider_credentials: { value: (owner, name) => secrets.providerKey(owner, name) },
    runtimes: new Map((overrides.runtimes ?? []).map((runtime) => [runtime.name, runtime])),
    assets: assets.files,
    budgets,
    reading,
  })
}

function createRetention(
  foundation: Foundation,
  { assets, storage: { store, spilled } }: RunParts,
  { early_keys }: JobService,
): RetentionSweeper {
  const { config, platform, log } = foundation
  return new RetentionSweeper({
    store,
    platform,
    log,
    job_days: config.job_retention_days,
    early_keys,
    fileSweeps: [...listFileSweeps(assets, foundation), () => spilled.sweep()],
  })
}
