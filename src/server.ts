// A server as a value: `createServer` composes every part, listens, and returns how to close it.
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AuditLog } from './access/audit-log.ts'
import type { TokenVerifiers } from './access/authentication-rules.ts'
import { createAuthenticator } from './access/authenticator.ts'
import { CredentialRechecker } from './access/credential-rechecker.ts'
import { LOCAL_USER } from './access/principal.ts'
import { clientKey, RateLimiter } from './access/rate-limiter.ts'
import { createTokenServices, createTokenVerifiers } from './access/tokens/token-services.ts'
import { createAssetLoader } from './assets/asset-reference-loader.ts'
import { AssetStore } from './assets/asset-store.ts'
import { FileLookup } from './assets/file-lookup.ts'
import { FolderRemovals } from './assets/folder-removals.ts'
import { createJobAssetAccess } from './assets/job-asset-access.ts'
import { PreviewScheduler } from './assets/previews/scheduler.ts'
import { AssetService } from './assets/service.ts'
import { type ObjectStores, openObjectStores, openTemporaryStore } from './assets/store-factory.ts'
import { StoredObjectService } from './assets/stored-object-service.ts'
import { BlobStore } from './assets/stores/blob-store.ts'
import { UrlSigner } from './assets/url-signer.ts'
import type { ChatLimits } from './chat/limits.ts'
import { createOwnerRedactors } from './chat/owner-redaction.ts'
import { ChatService } from './chat/service.ts'
import { createWorkflowTools } from './chat/tools/server-tools.ts'
import { createCallMetrics } from './completions/call-metrics.ts'
import { CompletionService } from './completions/service.ts'
import { WorkflowModelService } from './completions/workflow-models/service.ts'
import type { Config } from './config.ts'
import type { AppContext } from './context.ts'
import { readOrCreateDatabaseName } from './db/database-metadata.ts'
import { openServerStore } from './db/files/compaction.ts'
import { acquireDatabaseLock, openDataFolder } from './db/files/data-folder.ts'
import { ReservedDiskSpace } from './db/files/reserved-disk-space.ts'
import { startErrorForFault } from './db/health/database-faults.ts'
import { type OwnerScope, ownerScopeKey, userShareKey } from './db/owner-scope.ts'
import { StoredKeyFingerprints } from './db/sealed-columns.ts'
import { SealedCursors } from './db/sealed-cursors.ts'
import type { Store } from './db/store.ts'
import { DownloadService } from './downloads/service.ts'
import type { NodeRegistry } from './engine/node-api/node-type.ts'
import { ServiceError } from './errors.ts'
import { EventLog } from './events/log.ts'
import { FollowQuota, MAX_FOLLOWED_JOBS, MAX_FOLLOWED_THREADS } from './follow-quota.ts'
import { createApp } from './http/app.ts'
import { closeListener } from './http/connection/graceful-close.ts'
import { createListener, type ListenerLimits } from './http/connection/listener.ts'
import { serializeRequests } from './http/connection/pipelining.ts'
import { normalizeRequestTarget } from './http/connection/request-target.ts'
import { registerCommitMetrics, registerJobEndMetrics, registerJobMetrics } from './jobs/metrics.ts'
import { createOutputPublisher } from './jobs/outputs/publisher.ts'
import { RetentionSweeper } from './jobs/retention.ts'
import { JobService } from './jobs/service.ts'
import { readEndSnapshot } from './jobs/snapshot.ts'
import { SpilledValueStore } from './jobs/values/spilled-value-store.ts'
import { AvailabilityProbes, type NodeRuntime } from './lifecycle/preflight/probes.ts'
import { PreflightService } from './lifecycle/preflight/service.ts'
import { createLog, type Log } from './log.ts'
import { Metrics } from './metrics.ts'
import { createUnbilledContext } from './models/billing/billing-context.ts'
import { BudgetEnforcer } from './models/billing/budgets.ts'
import { SpendingLedger } from './models/billing/spending-ledger.ts'
import { LIMIT_CURRENCY } from './models/billing/spending-limit.ts'
import { createTokenMetering } from './models/billing/token-metrics.ts'
import { ModelService } from './models/calls/model-service.ts'
import { ModelListCache } from './models/catalogue/model-list-cache.ts'
import type { Provider } from './models/provider.ts'
import { createConfiguredProviders } from './models/providers/configured-providers.ts'
import { resolveModelsFolder } from './models/providers/local/model-files.ts'
import {
  type DiscoveryOptions,
  discoverModelServers,
  type LocalModelServer,
} from './models/providers/local-server-discovery.ts'
import type { ProviderRegistry } from './models/providers/registry.ts'
import { OwnRequestDetector } from './net/own-request-detector.ts'
import { maxResponseBufferBytes, ResponseBuffers } from './net/response-buffers.ts'
import { UploadStallDetector } from './net/upload-stall-detector.ts'
import { UpstreamClient } from './net/upstream/client.ts'
import { builtinRegistry } from './nodes/registry.ts'
import { FairMemoryAccount, heapShareBytes, RUNS_HEAP_FRACTION } from './payloads/fair-memory-account.ts'
import { PayloadValidator } from './payloads/payload-validator.ts'
import { type Platform, systemPlatform } from './platform.ts'
import { Redactor } from './redaction/redactor.ts'
import { createServices, type ProcessServices } from './services.ts'
import { listSettingDefinitions } from './settings/definitions.ts'
import { listSecretPurposes } from './settings/secret-purposes.ts'
import { SecretService } from './settings/secret-service.ts'
import { SettingsService } from './settings/settings-service.ts'
import { TimeSliceScheduler } from './shared/time-slices.ts'
import { SocketGateway } from './sockets/gateway.ts'
import type { SocketTimeouts } from './sockets/keep-alive.ts'
import { StartError } from './start-error.ts'
import { openVault } from './vault/open-vault.ts'
import type { Vault } from './vault/vault.ts'
import { VectorStore } from './vectors/vector-store.ts'
import { PlanCache } from './workflows/plan-cache.ts'
import { WorkflowService } from './workflows/service.ts'
import { createToolAccess, createWorkflowLookup } from './workflows/tools/access.ts'

/** The parts that a test may replace. */
export interface ServerOverrides {
  platform?: Platform
  log?: Log
  registry?: NodeRegistry
  /** Providers of models, in addition to the built-in ones. */
  providers?: readonly Provider[]
  /** Model servers to look for on this machine, instead of the usual ones. */
  local_servers?: readonly LocalModelServer[]
  /** Runtimes that node types may need besides this process, as `required_runtimes` names them. */
  runtimes?: readonly NodeRuntime[]
  socket_times?: Partial<SocketTimeouts>
  chat_limits?: Partial<ChatLimits>
  /** The maximum bytes of answers that wait for their readers. */
  max_response_buffer_bytes?: number
  /** The maximum number of jobs that all sockets follow together. */
  max_followed_jobs?: number
  /** The same for threads. */
  max_followed_threads?: number
  /** The memory account of all runs, instead of a part of the heap. */
  shared_memory?: FairMemoryAccount
  /** The maximum number of events that are kept of one job. */
  max_job_events?: number
  listener?: Partial<ListenerLimits>
  /** Milliseconds in which the body of a request of the lifecycle profile must arrive. */
  sdk_body_ms?: number
  /** Milliseconds in each of which an upload must make progress. */
  upload_window_ms?: number
  /** Shown to a second process that opens the same data folder. */
  owner?: string
}

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port` with the actual port. */
  readonly url: string
  readonly context: AppContext
  /** Refuses new work, gives running jobs up to `drain_ms`, then closes everything. */
  close(drain_ms?: number): Promise<void>
}

/**
 * Starts the service.
 * @throws StartError in one clear line: port in use, data folder taken or not writable, database unusable
 */
export async function createServer(config: Config, overrides: ServerOverrides = {}): Promise<RunningServer> {
  const owner = overrides.owner ?? `${config.host}:${config.port}`
  const owned = new DisposableStack()
  try {
    const folder = owned.use(openDataFolder(config.data_dir, owner))
    const elsewhere = config.database_url?.slice('sqlite:'.length) ?? null
    if (elsewhere !== null && elsewhere !== ':memory:') owned.use(acquireDatabaseLock(elsewhere, owner, folder))
    return await startServer(owned, elsewhere ?? folder.database, config, overrides, folder.warning)
  } catch (error) {
    owned.dispose()
    throw error
  }
}

async function startServer(
  owned: DisposableStack,
  database: string,
  config: Config,
  overrides: ServerOverrides,
  folder_warning: string | null,
): Promise<RunningServer> {
  const platform = overrides.platform ?? systemPlatform()
  const own_requests = new OwnRequestDetector(platform.secret(16))
  const client = new UpstreamClient({}, own_requests)
  const providers = createConfiguredProviders({ config, client, more: overrides.providers })
  const redactor = new Redactor(config.known_secrets)
  const log = overrides.log ?? createLog(config.log_level, redactor)
  const metrics = new Metrics()
  const committed = registerCommitMetrics(metrics)
  const reserved_space = database === ':memory:' ? null : owned.use(new ReservedDiskSpace(database))
  const store = await openServerStore(database, { durability: config.durability, log, onCommitted: committed })
  const unreadable = ({ name: provider, left_out }: Provider) =>
    log.warn({ provider, left_out }, 'a model list has unreadable entries: they are skipped')
  const slices = new TimeSliceScheduler()
  const model_lists = new ModelListCache({ now: () => platform.now(), slices, unreadable })
  const models = new ModelService({ providers, model_lists, slices })
  const services = createServices(
    config,
    models,
    (detail) => log.error({ detail }, 'work on a file failed'),
    own_requests,
  )
  const downloads = openDownloads(config, log, own_requests)
  owned.use(providers)
  await using opening = new AsyncDisposableStack()
  const upload_pace = new UploadStallDetector(overrides.upload_window_ms)
  const http = createListener(
    log,
    { trusted_proxies: config.trusted_proxies, ...overrides.listener },
    upload_pace,
    () => platform.id('req'),
  )
  try {
    const state = { url: '' }
    const { vault, key, warning } = await openVault(
      config.data_dir,
      config.secrets_master_key,
      new StoredKeyFingerprints(store),
    )
    redactor.add(key)
    for (const one of [warning, folder_warning]) if (one !== null) log.warn(one)
    const stopping = new AbortController()
    const files_dir = database === ':memory:' ? createTemporaryFolder(owned) : config.data_dir
    // A database in memory is lost at the end, and with it the meaning of the objects in a bucket.
    const storage = database === ':memory:' ? null : config.storage
    const owner = await readOrCreateDatabaseName(store, platform)
    const object_stores = opening.use(await openObjectStores(files_dir, { storage, owner, platform, log }))
    const spilled = new SpilledValueStore(files_dir, store, platform)
    const identity = await createIdentityCheck(config, { platform, log, stopping: stopping.signal })
    const known = {
      log,
      platform,
      redactor,
      vault,
      identity,
      store,
      services,
      own_requests,
      providers,
      models,
      slices,
      metrics,
    }
    const parts = { ...known, object_stores, downloads, model_lists, upload_pace, spilled, stopping: stopping.signal }
    const { context, ledger } = composeContext(config, parts, overrides, () => config.public_url ?? state.url)
    const recovered = await context.runs.jobs.restore()
    if (recovered.running + recovered.waiting + recovered.ended > 0)
      log.info(recovered, 'jobs of an earlier process are resumed')
    const interrupted = await context.chat.turns.restore()
    if (interrupted > 0)
      log.info({ turns: interrupted }, 'turns that an earlier process left unfinished are stored as interrupted')
    const gateway = new SocketGateway(context, overrides.socket_times)
    const { app, warmUp } = createApp(context, overrides)
    http.on(
      'request',
      serializeRequests((request, response) => app(normalizeRequestTarget(request), response)),
    )
    http.on('upgrade', (request, socket, head) => gateway.upgrade(request, socket, head))
    state.url = await listen(http, config)
    const own_port = (http.address() as AddressInfo).port
    if (config.probe_local_models)
      scheduleModelServerDiscovery(context, { client, own_port, servers: overrides.local_servers })
    context.runs.retention.start()
    context.assets.previews.start()
    context.assets.folder_removals.begin()
    context.runs.jobs.startRestored()
    if (heapShareBytes(1) >= WARM_UP_HEAP_BYTES)
      setTimeout(
        () => void warmUp().catch((error) => context.log.error({ err: error }, 'the warm-up failed')),
        WARM_UP_MS,
      ).unref()
    const close = callOnce(async (drain_ms: number) => {
      context.chat.turns.close()
      await context.runs.jobs.drain(drain_ms)
      await context.chat.turns.end()
      stopping.abort()
      await context.runs.retention[Symbol.asyncDispose]()
      await context.assets.previews[Symbol.asyncDispose]()
      await context.assets.folder_removals[Symbol.asyncDispose]()
      await gateway.close()
      await downloads[Symbol.asyncDispose]()
      await closeListener(http)
      context.transport.payloads.close()
      await context.access.tokens.access[Symbol.asyncDispose]()
      context.access.audit[Symbol.dispose]()
      await services[Symbol.asyncDispose]()
      await client[Symbol.asyncDispose]()
      await ledger[Symbol.asyncDispose]()
      await object_stores[Symbol.asyncDispose]()
      await spilled[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      owned.dispose()
    })
    reserved_space?.keepReserved()
    opening.move()
    return { url: state.url, context, close: (ms = DRAIN_MS) => close(ms), [Symbol.asyncDispose]: () => close(0) }
  } catch (error) {
    http.close()
    await downloads[Symbol.asyncDispose]()
    await services[Symbol.asyncDispose]()
    await client[Symbol.asyncDispose]()
    const { fault } = store
    await store[Symbol.asyncDispose]()
    throw fault !== null && error instanceof ServiceError ? startErrorForFault(fault, database, error) : error
  }
}

const DRAIN_MS = 30_000
/** The number of files that one round of a sweep looks at. */
const FILES_PER_SWEEP = 500
/** The warm-up follows the first answers, so that it does not delay the start. */
const WARM_UP_MS = 1_000
/** A smaller heap keeps for its first requests the tens of megabytes that the warm-up takes. */
const WARM_UP_HEAP_BYTES = 128 * 1_048_576

/** Discovery also follows the first answers, but soon: a client may call a model of this machine at once. */
const DISCOVERY_DELAY_MS = 200
/** How long model servers may take to answer. Nothing waits for the discovery, and a machine whose services all start at once is slow. */
const DISCOVERY_TIMEOUT_MS = 60_000

/** Adds the model servers that run on this machine, and logs them. */
function scheduleModelServerDiscovery({ models, config, log, lifetime }: AppContext, parts: DiscoveryOptions): void {
  const { providers } = models
  const { stopping } = lifetime
  const discover = async () => {
    const found = await discoverModelServers(providers, { look_ms: DISCOVERY_TIMEOUT_MS, ...parts }, stopping)
    for (const { name, base_url } of found) log.info({ provider: name, base_url }, 'model server found')
    const { default_provider: name } = config
    if (name !== null && !providers.get(name) && !stopping.aborted)
      log.warn(
        `SVC_DEFAULT_PROVIDER is "${name}", which does not answer on this machine: until it does, requests must name the provider of a model`,
      )
  }
  setTimeout(
    () => void discover().catch((err) => log.error({ err }, 'model server discovery failed')),
    DISCOVERY_DELAY_MS,
  ).unref()
}

/** Files of assets live as long as their rows: with a database in memory, their folder is temporary. */
function createTemporaryFolder(owned: DisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-files-'))
  owned.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Downloads of model files from the hub that the operator chose. */
function openDownloads(config: Config, log: Log, own: OwnRequestDetector): DownloadService {
  const { model_hub_url, http_node_allow: allow } = config
  return new DownloadService({
    folder: resolveModelsFolder(config),
    hub_url: model_hub_url.replace(/\/+$/, ''),
    allow,
    log,
    own,
  })
}

/** Loads the verifier only with an identity provider, because its library costs a start tens of milliseconds. */
async function createIdentityCheck(
  config: Config,
  tools: { platform: Platform; log: Log; stopping: AbortSignal },
): Promise<TokenVerifiers['identity'] | undefined> {
  const { identity_provider, admin_users } = config
  if (!identity_provider) return
  const { createIdentityVerifier } = await import('./access/identity/identity-verifier.ts')
  return createIdentityVerifier(identity_provider, {
    ...tools,
    admin_users,
    callerOf: (facts) => clientKey(facts, config),
  })
}

interface ContextParts {
  readonly log: Log
  readonly platform: Platform
  readonly redactor: Redactor
  readonly vault: Vault
  readonly identity: TokenVerifiers['identity'] | undefined
  readonly store: Store
  readonly services: ProcessServices
  readonly own_requests: OwnRequestDetector
  readonly providers: ProviderRegistry
  readonly models: ModelService
  readonly slices: TimeSliceScheduler
  readonly model_lists: ModelListCache
  readonly downloads: DownloadService
  readonly metrics: Metrics
  readonly upload_pace: UploadStallDetector
  readonly spilled: SpilledValueStore
  readonly object_stores: ObjectStores
  readonly stopping: AbortSignal
}

function composeContext(
  config: Config,
  parts: ContextParts,
  overrides: ServerOverrides,
  publicUrl: () => string,
): { context: AppContext; ledger: SpendingLedger } {
  const { log, platform, store, services, redactor, vault, slices, metrics, stopping } = parts
  const contents = new BlobStore(store, parts.object_stores.contents, platform.now)
  const signatures = new UrlSigner(vault.signingKey('storage'))
  const previews = new PreviewScheduler({ store, contents, media: services.media, log })
  const secret = vault.signingKey('assets')
  const assets = new AssetStore({ store, contents, platform, signatures, secret, previews })
  const temporary = openTemporaryStore(parts.object_stores.temporary, {
    store,
    platform,
    secret: vault.signingKey('temporary'),
    most_bytes: config.max_temporary_bytes_per_user,
  })
  const objects = new StoredObjectService(store, contents, platform, temporary.quota)
  const files = new FileLookup(assets, objects, temporary)
  const cursors = new SealedCursors(vault.cipher('cursors'))
  const folder_removals = new FolderRemovals({ store, contents, log })
  const library = new AssetService({
    store,
    slices,
    contents,
    files,
    platform,
    previews,
    signatures,
    cursors,
    folder_removals,
  })
  const registry = overrides.registry ?? builtinRegistry
  const events = new EventLog(store, (job_key) => readEndSnapshot({ store, slices }, job_key), overrides.max_job_events)
  // A search of a large index takes a second or two. Other work of its owner must not wait for it.
  const vector_slices = new TimeSliceScheduler()
  // Other work must not wait for readers of stored data either.
  const reading = new TimeSliceScheduler()
  const payloads = new PayloadValidator(Math.max(config.max_body_bytes, config.ws_max_message_bytes))
  const plans = new PlanCache(store, registry, slices, payloads.memory, services.workers)
  const workflows = new WorkflowService(store, plans, platform, publicUrl)
  const secrets = openSecrets(config, parts, registry)
  const settings = new SettingsService({ store, platform, types: listSettingDefinitions(config.job_timeout_seconds) })
  const metered = createTokenMetering(metrics)
  const ledger = new SpendingLedger({ store, platform, log })
  const budgets = new BudgetEnforcer({ ...config, local_user: LOCAL_USER }, ledger, metrics)
  const billingOf = (owner: OwnerScope) =>
    budgets.applyDailyLimits(
      owner,
      metered(createUnbilledContext((name) => secrets.providerKey(owner, name), ownerScopeKey(owner))),
    )
  const assetsOf = (owner: OwnerScope) => createAssetLoader(files, owner, publicUrl)
  const jobs = new JobService({
    store,
    events,
    plans,
    workflows,
    platform,
    log,
    limits: {
      running: config.max_concurrent_jobs,
      running_per_user: config.max_jobs_per_user,
      running_per_workflow: config.max_runs_per_workflow,
      waiting: config.max_queued_jobs,
    },
    defaultsOf: (owner) => settings.runDefaults(owner),
    memory_limit: config.max_job_memory_bytes,
    time_limit: config.job_timeout_seconds,
    shared_memory: overrides.shared_memory ?? new FairMemoryAccount(heapShareBytes(RUNS_HEAP_FRACTION)),
    servicesOf: (owner) =>
      services.forOwner({
        owner: userShareKey(owner),
        secret: (name) => secrets.value(owner, name),
        customer: billingOf(owner),
        assets: { ...assetsOf(owner), ...createJobAssetAccess({ store, slices, contents, platform, previews }, owner) },
        vectors: new VectorStore(owner, { store, platform, slices: vector_slices }),
        tools: createToolAccess({ registry, workflow: createWorkflowLookup(workflows, owner, registry) }),
        redact: (text) => redactor.forOwner(ownerScopeKey(owner)).text(text),
      }),
    budget: (paid) => budgets.createJobHold(() => paid(LIMIT_CURRENCY)),
    onEnded: registerJobEndMetrics(metrics),
    cipher: vault.cipher('journal'),
    spilled: parts.spilled,
    publisherOf: (owner) => createOutputPublisher(redactor.forOwner(ownerScopeKey(owner)), { assets, temporary }),
  })
  const workflow_models = new WorkflowModelService({ workflows, jobs, events, slices, reading })
  const completions = new CompletionService({
    models: parts.models,
    workflows: workflow_models,
    redactorOf: (owner) => redactor.forOwner(ownerScopeKey(owner)),
    billingOf,
    httpOf: (owner) => services.httpFor(userShareKey(owner)),
    assetsOf,
    platform,
    log,
    measuring: createCallMetrics(metrics),
    slices,
    stopping,
  })
  const chat = new ChatService({
    store,
    slices,
    platform,
    log,
    completions,
    choices: { providers: parts.providers, model_lists: parts.model_lists, billingOf },
    tool_box: createWorkflowTools({ workflows, jobs, store, slices }),
    redacting: createOwnerRedactors(redactor),
    limits: overrides.chat_limits,
  })
  const preflight = new PreflightService({
    workflows,
    registry,
    jobs,
    log,
    publicUrl,
    providers: parts.providers,
    probes: new AvailabilityProbes({ model_lists: parts.model_lists, log }),
    credentials: secrets,
    provider_credentials: { value: (owner, name) => secrets.providerKey(owner, name) },
    runtimes: new Map((overrides.runtimes ?? []).map((runtime) => [runtime.name, runtime])),
    assets: files,
    budgets,
    reading,
  })
  for (const warning of config.warnings) log.warn(warning)
  const audit = new AuditLog(log, config)
  const tokens = createTokenServices(config, { store, platform, log, vault, publicUrl })
  const principalOf = createAuthenticator(config, createTokenVerifiers(config, tokens, parts.identity), {
    log,
    platform,
  })
  const rechecks = new CredentialRechecker(principalOf, { log, platform }, overrides.socket_times?.recheck_ms)
  const fileSweeps = [
    () => objects.sweep(FILES_PER_SWEEP, stopping),
    () => folder_removals.finish(),
    () => contents.sweepUnreferenced(FILES_PER_SWEEP),
    () => temporary.sweep(FILES_PER_SWEEP, stopping),
    () => parts.spilled.sweep(),
  ]
  const retention = new RetentionSweeper({
    store,
    platform,
    log,
    job_days: config.job_retention_days,
    early_keys: jobs.early_keys,
    fileSweeps,
  })
  registerJobMetrics(metrics, { store, events, jobs })
  const context: AppContext = {
    config,
    log,
    metrics,
    platform,
    schedulers: { slices, reading },
    lifetime: { started_at: platform.now(), stopping },
    store,
    access: {
      own_requests: parts.own_requests,
      rate_limiter: new RateLimiter(config, platform),
      authenticate: principalOf,
      rechecker: rechecks,
      tokens,
      audit,
    },
    users: { settings, secrets, redactor, vault },
    assets: { service: library, store: assets, objects, temporary, files, previews, folder_removals },
    models: {
      providers: parts.providers,
      model_lists: parts.model_lists,
      calls: parts.models,
      billingOf,
      completions,
      workflow_models,
      downloads: parts.downloads,
    },
    runs: {
      store,
      slices,
      cursors,
      log,
      redactor,
      registry,
      workflows,
      jobs,
      events,
      preflight,
      retention,
    },
    chat,
    transport: {
      payloads,
      response_buffers: new ResponseBuffers(log, {
        most: overrides.max_response_buffer_bytes ?? maxResponseBufferBytes(config.max_body_bytes),
      }),
      followed_jobs: new FollowQuota('jobs', overrides.max_followed_jobs ?? MAX_FOLLOWED_JOBS),
      followed_threads: new FollowQuota('threads', overrides.max_followed_threads ?? MAX_FOLLOWED_THREADS),
      stall_detector: parts.upload_pace,
    },
  }
  return { context, ledger }
}

/** The redactor must know the secrets before anything stored is logged. Secrets of the environment belong to the local user outside of workspaces. */
function openSecrets(config: Config, parts: ContextParts, registry: NodeRegistry): SecretService {
  const secrets = new SecretService({
    ...parts,
    purposes: listSecretPurposes(registry, parts.providers.all()),
    provider_keys: config.provider_keys,
    operatorSecrets: ({ user_id, workspace_id }) =>
      user_id === LOCAL_USER && workspace_id === null ? config.secrets : {},
  })
  secrets.load()
  // The redactor adds these secrets for everybody, since no user may see them. For the local user, streamed text waits while it could be the start of
  // a secret.
  const local = ownerScopeKey({ user_id: LOCAL_USER, workspace_id: null })
  for (const secret of Object.values(config.secrets)) parts.redactor.add(secret, local)
  return secrets
}

/**
 * Connections that the operating system queues for the service. Beyond it none is accepted, and clients try again after a second. With Node's 511, a
 * burst of one user made others wait. The system's own limit (`net.core.somaxconn`) may be lower.
 */
export const LISTEN_BACKLOG = 4_096

function listen(http: Server, { host, port }: Config): Promise<string> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)))
    http.listen({ port, host, backlog: LISTEN_BACKLOG }, () => {
      const address = http.address() as AddressInfo
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
      resolve(`http://${name}:${address.port}`)
    })
  })
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): StartError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} on ${host} is in use; stop what listens there, or choose another with --port`,
    EACCES: `port ${port} on ${host} needs more rights than this user has; choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; choose another with --host`,
    ENOTFOUND: `the host name ${host} is not known; choose another with --host`,
  }
  const reason = reasons[error.code ?? ''] ?? `cannot listen on ${host} port ${port} (${error.code ?? error.message})`
  return new StartError(reason, { cause: error })
}

function callOnce<A extends unknown[]>(run: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
  let running: Promise<void> | null = null
  return (...args) => {
    running ??= run(...args)
    return running
  }
}
