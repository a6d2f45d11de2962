// A server as a value: `createServer` composes every part, listens, and gives back how to close it again.
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Audit } from './access/audit.ts'
import { createGate } from './access/gate.ts'
import { clientKey, RateLimiter } from './access/limiter.ts'
import { LOCAL_USER } from './access/principal.ts'
import type { TokenChecks } from './access/procedure.ts'
import { Rechecks } from './access/recheck.ts'
import { createTokenChecks, createTokens } from './access/token-checks.ts'
import { Assets } from './assets/assets.ts'
import { Contents } from './assets/contents.ts'
import { Files } from './assets/files.ts'
import { FolderRemovals } from './assets/folder-removals.ts'
import { Library } from './assets/library.ts'
import { assetAccess } from './assets/loading.ts'
import { StoredObjects } from './assets/objects.ts'
import { type ObjectStores, openObjectStores, openTemporary } from './assets/open.ts'
import { Previews } from './assets/previews.ts'
import { shelfOf } from './assets/shelf.ts'
import { Signatures } from './assets/signatures.ts'
import { Chat } from './chat/chat.ts'
import type { ChatLimits } from './chat/limits.ts'
import { redactingWith } from './chat/redacting.ts'
import { workflowTools } from './chat/tool-box.ts'
import { Completions } from './completions/completions.ts'
import { measuring } from './completions/measuring.ts'
import { WorkflowModels } from './completions/workflow-models.ts'
import type { Config } from './config.ts'
import type { AppContext } from './context.ts'
import { openDataFolder, ownDatabase } from './db/data-folder.ts'
import { startErrorAfter } from './db/faults.ts'
import { databaseName } from './db/meta.ts'
import { ReservedRoom } from './db/reserved-room.ts'
import { openServerStore } from './db/rewriting.ts'
import { type Scope, scopedKey, userKey } from './db/scope.ts'
import { KeyFacts } from './db/sealed.ts'
import type { Store } from './db/store.ts'
import { Downloads } from './downloads/downloads.ts'
import type { NodeRegistry } from './engine/node-type.ts'
import { ServiceError } from './errors.ts'
import { EventLog } from './events/log.ts'
import { Followed, MOST_JOBS, MOST_THREADS } from './followed.ts'
import { HeldAnswers, heldAtMost } from './held-answers.ts'
import { createApp } from './http/app.ts'
import { closeListener } from './http/closing.ts'
import { createListener, type ListenerLimits } from './http/listener.ts'
import { readTarget } from './http/target.ts'
import { inTurn } from './http/turns.ts'
import { commitMetrics, endMetrics, jobMetrics } from './jobs/metrics.ts'
import { publisherWith } from './jobs/publisher.ts'
import { Retention } from './jobs/retention.ts'
import { JobService } from './jobs/service.ts'
import { storedSnapshot } from './jobs/snapshot.ts'
import { SpilledValues } from './jobs/spilled-values.ts'
import { Preflight } from './lifecycle/preflight.ts'
import { Probes, type Runtime } from './lifecycle/preflight-probes.ts'
import { createLog, type Log } from './log.ts'
import { Metrics } from './metrics.ts'
import { Budgets } from './models/budgets.ts'
import { configuredProviders } from './models/configured.ts'
import { customerWith } from './models/customer.ts'
import { type DiscoveryParts, discover, type LocalServer } from './models/discovery.ts'
import { Ledger } from './models/ledger.ts'
import { Listings } from './models/listings.ts'
import { modelsFolder } from './models/local-files.ts'
import { metering } from './models/metering.ts'
import { Models } from './models/models.ts'
import type { Provider } from './models/provider.ts'
import type { Providers } from './models/providers.ts'
import { CURRENCY } from './models/purse.ts'
import { OwnRequests } from './net/own-requests.ts'
import { UploadPace } from './net/upload-pace.ts'
import { UpstreamClient } from './net/upstream.ts'
import { builtinNodes } from './nodes/registry.ts'
import { heapBytes, MemoryAccount, RUNS_PART_OF_HEAP } from './payloads/memory-account.ts'
import { PayloadJudge } from './payloads/payload-judge.ts'
import { type Platform, systemPlatform } from './platform.ts'
import { Redactor } from './redaction/redactor.ts'
import { SealedCursors } from './sealed-cursors.ts'
import { createServices, type Services } from './services.ts'
import { secretPurposes } from './settings/purposes.ts'
import { settingTypes } from './settings/registry.ts'
import { Secrets } from './settings/secrets.ts'
import { Settings } from './settings/settings.ts'
import { Gateway } from './sockets/gateway.ts'
import type { SocketTimes } from './sockets/keep-alive.ts'
import { StartError } from './start-error.ts'
import { TimeSlices } from './time-slices.ts'
import { openVault } from './vault/open.ts'
import type { Vault } from './vault/vault.ts'
import { Vectors } from './vectors/vectors.ts'
import { Plans } from './workflows/plans.ts'
import { WorkflowService } from './workflows/service.ts'
import { toolAccess, workflowsOf } from './workflows/tools.ts'

/** What a test may hold in its own hands. */
export interface Overrides {
  platform?: Platform
  log?: Log
  registry?: NodeRegistry
  /** Providers of models, besides the one that is always there. */
  providers?: readonly Provider[]
  /** Servers of models that are looked for on this machine, in the place of the usual ones. */
  local_servers?: readonly LocalServer[]
  /** What node types may need to run besides this process, as `required_runtimes` names it. */
  runtimes?: readonly Runtime[]
  socket_times?: Partial<SocketTimes>
  chat_limits?: Partial<ChatLimits>
  /** What answers may hold that wait for their readers, in bytes. */
  held_most?: number
  /** How many jobs sockets may follow, all together. */
  most_followed?: number
  /** How many threads. */
  most_followed_threads?: number
  /** The memory of what runs hold, in the place of a part of the heap. */
  shared_memory?: MemoryAccount
  /** How many events are kept of one job. */
  max_job_events?: number
  listener?: Partial<ListenerLimits>
  /** Milliseconds in which the body of a request of the lifecycle profile has to come. */
  sdk_body_ms?: number
  /** Milliseconds in each of which an upload has to bring something. */
  upload_window_ms?: number
  /** Shown to a second process that wants the same data folder. */
  owner?: string
}

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port` with the port that was really taken. */
  readonly url: string
  readonly context: AppContext
  /** Refuses new work, gives running jobs up to `drain_ms`, then closes everything. */
  close(drain_ms?: number): Promise<void>
}

/**
 * Starts the service.
 * @throws StartError in one clear line: port in use, data folder taken or not writable, database unusable
 */
export async function createServer(config: Config, overrides: Overrides = {}): Promise<RunningServer> {
  const owner = overrides.owner ?? `${config.host}:${config.port}`
  const owned = new DisposableStack()
  try {
    const folder = owned.use(openDataFolder(config.data_dir, owner))
    const elsewhere = config.database_url?.slice('sqlite:'.length) ?? null
    if (elsewhere !== null && elsewhere !== ':memory:') owned.use(ownDatabase(elsewhere, owner, folder))
    return await startIn(owned, elsewhere ?? folder.database, config, overrides, folder.warning)
  } catch (error) {
    owned.dispose()
    throw error
  }
}

async function startIn(
  owned: DisposableStack,
  database: string,
  config: Config,
  overrides: Overrides,
  folder_warning: string | null,
): Promise<RunningServer> {
  const platform = overrides.platform ?? systemPlatform()
  const own_requests = new OwnRequests(platform.secret(16))
  const client = new UpstreamClient({}, own_requests)
  const providers = configuredProviders({ config, client, more: overrides.providers })
  const redactor = new Redactor(config.known_secrets)
  const log = overrides.log ?? createLog(config.log_level, redactor)
  const metrics = new Metrics()
  const committed = commitMetrics(metrics)
  const room = database === ':memory:' ? null : owned.use(new ReservedRoom(database))
  const store = await openServerStore(database, { durability: config.durability, log, committed })
  const unreadable = ({ name: provider, left_out }: Provider) =>
    log.warn({ provider, left_out }, 'a list of models has entries that cannot be read: they are passed over')
  const slices = new TimeSlices()
  const listings = new Listings({ now: () => platform.now(), slices, unreadable })
  const models = new Models({ providers, listings, slices })
  const services = createServices(
    config,
    models,
    (detail) => log.error({ detail }, 'work on a file failed'),
    own_requests,
  )
  const downloads = openDownloads(config, log, own_requests)
  owned.use(providers)
  await using opening = new AsyncDisposableStack()
  const upload_pace = new UploadPace(overrides.upload_window_ms)
  const http = createListener(
    log,
    { trusted_proxies: config.trusted_proxies, ...overrides.listener },
    upload_pace,
    () => platform.id('req'),
  )
  try {
    const state = { url: '' }
    const { vault, key, warning } = await openVault(config.data_dir, config.secrets_master_key, new KeyFacts(store))
    redactor.add(key)
    for (const one of [warning, folder_warning]) if (one !== null) log.warn(one)
    const stopping = new AbortController()
    const files_dir = database === ':memory:' ? temporaryFolder(owned) : config.data_dir
    // What is in memory alone is forgotten, and with it what the objects of a bucket are.
    const storage = database === ':memory:' ? null : config.storage
    const owner = await databaseName(store, platform)
    const object_stores = opening.use(await openObjectStores(files_dir, { storage, owner, platform, log }))
    const spilled = new SpilledValues(files_dir, store, platform)
    const identity = await identityOf(config, { platform, log, stopping: stopping.signal })
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
    const parts = { ...known, object_stores, downloads, listings, upload_pace, spilled, stopping: stopping.signal }
    const context = composeContext(config, parts, overrides, () => config.public_url ?? state.url)
    const recovered = await context.jobs.restore()
    if (recovered.running + recovered.waiting + recovered.ended > 0)
      log.info(recovered, 'jobs of an earlier process go on')
    const cut = await context.chat.turns.restore()
    if (cut > 0) log.info({ turns: cut }, 'turns that an earlier process left unfinished are stored as interrupted')
    const gateway = new Gateway(context, overrides.socket_times)
    const { app, warmUp } = createApp(context, overrides)
    http.on(
      'request',
      inTurn((request, response) => app(readTarget(request), response)),
    )
    http.on('upgrade', (request, socket, head) => gateway.upgrade(request, socket, head))
    state.url = await listen(http, config)
    const own_port = (http.address() as AddressInfo).port
    if (config.probe_local_models) lookAround(context, { client, own_port, servers: overrides.local_servers })
    context.retention.start()
    context.previews.start()
    context.folder_removals.begin()
    context.jobs.open()
    if (heapBytes(1) >= WARM_UP_HEAP_BYTES)
      setTimeout(
        () => void warmUp().catch((error) => context.log.error({ err: error }, 'the warm-up failed')),
        WARM_UP_MS,
      ).unref()
    const close = once(async (drain_ms: number) => {
      context.chat.turns.close()
      await context.jobs.drain(drain_ms)
      await context.chat.turns.end()
      stopping.abort()
      await context.retention[Symbol.asyncDispose]()
      await context.previews[Symbol.asyncDispose]()
      await context.folder_removals[Symbol.asyncDispose]()
      await gateway.close()
      await downloads[Symbol.asyncDispose]()
      await closeListener(http)
      context.payloads.close()
      await context.tokens.access[Symbol.asyncDispose]()
      context.audit[Symbol.dispose]()
      await services[Symbol.asyncDispose]()
      await client[Symbol.asyncDispose]()
      await context.ledger[Symbol.asyncDispose]()
      await object_stores[Symbol.asyncDispose]()
      await spilled[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      owned.dispose()
    })
    room?.keep()
    opening.move()
    return { url: state.url, context, close: (ms = DRAIN_MS) => close(ms), [Symbol.asyncDispose]: () => close(0) }
  } catch (error) {
    http.close()
    await downloads[Symbol.asyncDispose]()
    await services[Symbol.asyncDispose]()
    await client[Symbol.asyncDispose]()
    const { fault } = store
    await store[Symbol.asyncDispose]()
    throw fault !== null && error instanceof ServiceError ? startErrorAfter(fault, database, error) : error
  }
}

const DRAIN_MS = 30_000
/** How many files of assets are looked at in one round of the sweep. */
const FILES_SWEPT = 500
/** After the first answers: a process that was just started has better things to do. */
const WARM_UP_MS = 1_000
/** A smaller heap keeps the tens of megabytes that the warm-up takes for its first requests. */
const WARM_UP_HEAP_BYTES = 128 * 1_048_576

/** After the first answers as well, but soon: a model of this machine may be asked for at once. */
const LOOK_AROUND_MS = 200
/** How long they may take to answer: nobody waits for this look, and a machine whose services all start at once is slow. */
const LOOK_AROUND_PATIENCE_MS = 60_000

/** Adds the servers of models that run on this machine, and says so. */
function lookAround({ providers, config, log, stopping }: AppContext, parts: DiscoveryParts): void {
  const look = async () => {
    const found = await discover(providers, { look_ms: LOOK_AROUND_PATIENCE_MS, ...parts }, stopping)
    for (const { name, base_url } of found) log.info({ provider: name, base_url }, 'a server of models was found')
    const { default_provider: name } = config
    if (name !== null && !providers.get(name) && !stopping.aborted)
      log.warn(`SVC_DEFAULT_PROVIDER is "${name}", which does not answer on this machine: models need its name for now`)
  }
  setTimeout(() => void look().catch((err) => log.error({ err }, 'the look for models failed')), LOOK_AROUND_MS).unref()
}

/** Files of assets are kept as long as their rows: a database in memory gets a folder that goes with it. */
function temporaryFolder(owned: DisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-files-'))
  owned.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Files of models, out of the hub that the operator chose. */
function openDownloads(config: Config, log: Log, own: OwnRequests): Downloads {
  const { model_hub_url, http_node_allow: allow } = config
  return new Downloads({ folder: modelsFolder(config), hub_url: model_hub_url.replace(/\/+$/, ''), allow, log, own })
}

/** Read where there is an identity provider alone: its library costs a start tens of milliseconds. */
async function identityOf(
  config: Config,
  tools: { platform: Platform; log: Log; stopping: AbortSignal },
): Promise<TokenChecks['identity'] | undefined> {
  const { identity_provider, admin_users } = config
  if (!identity_provider) return
  const { createIdentity } = await import('./access/identity.ts')
  return createIdentity(identity_provider, { ...tools, admin_users, callerOf: (facts) => clientKey(facts, config) })
}

interface Parts {
  readonly log: Log
  readonly platform: Platform
  readonly redactor: Redactor
  readonly vault: Vault
  readonly identity: TokenChecks['identity'] | undefined
  readonly store: Store
  readonly services: Services
  readonly own_requests: OwnRequests
  readonly providers: Providers
  readonly models: Models
  readonly slices: TimeSlices
  readonly listings: Listings
  readonly downloads: Downloads
  readonly metrics: Metrics
  readonly upload_pace: UploadPace
  readonly spilled: SpilledValues
  readonly object_stores: ObjectStores
  readonly stopping: AbortSignal
}

function composeContext(config: Config, parts: Parts, overrides: Overrides, publicUrl: () => string): AppContext {
  const { log, platform, store, services, redactor, vault, slices, metrics, stopping } = parts
  const contents = new Contents(store, parts.object_stores.contents, platform.now)
  const signatures = new Signatures(vault.signingKey('storage'))
  const previews = new Previews({ store, contents, media: services.media, log })
  const secret = vault.signingKey('assets')
  const assets = new Assets({ store, contents, platform, signatures, secret, previews })
  const temporary = openTemporary(parts.object_stores.temporary, {
    store,
    platform,
    secret: vault.signingKey('temporary'),
    most_bytes: config.max_temporary_bytes_per_user,
  })
  const objects = new StoredObjects(store, contents, platform, temporary.quota)
  const files = new Files(assets, objects, temporary)
  const cursors = new SealedCursors(vault.cipher('cursors'))
  const folder_removals = new FolderRemovals({ store, contents, log })
  const library = new Library({
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
  const registry = overrides.registry ?? builtinNodes
  const events = new EventLog(store, (job_key) => storedSnapshot({ store, slices }, job_key), overrides.max_job_events)
  // A search of a large index takes a second or two: what its owner asks for meanwhile does not wait for it.
  const vector_slices = new TimeSlices()
  // Nor does whoever reads what others wrote.
  const reading = new TimeSlices()
  const payloads = new PayloadJudge(Math.max(config.max_body_bytes, config.ws_max_message_bytes))
  const plans = new Plans(store, registry, slices, payloads.memory, services.workers)
  const workflows = new WorkflowService(store, plans, platform, publicUrl)
  const secrets = openSecrets(config, parts, registry)
  const settings = new Settings({ store, platform, types: settingTypes(config.job_timeout_seconds) })
  const metered = metering(metrics)
  const ledger = new Ledger({ store, platform, log })
  const budgets = new Budgets({ ...config, local_user: LOCAL_USER }, ledger, metrics)
  const customerOf = (owner: Scope) =>
    budgets.of(owner, metered(customerWith((name) => secrets.providerKey(owner, name), scopedKey(owner))))
  const assetsOf = (owner: Scope) => assetAccess(files, owner, publicUrl)
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
    shared_memory: overrides.shared_memory ?? new MemoryAccount(heapBytes(RUNS_PART_OF_HEAP)),
    servicesOf: (owner) =>
      services.of({
        owner: userKey(owner),
        secret: (name) => secrets.value(owner, name),
        customer: customerOf(owner),
        assets: { ...assetsOf(owner), ...shelfOf({ store, slices, contents, platform, previews }, owner) },
        vectors: new Vectors(owner, { store, platform, slices: vector_slices }),
        tools: toolAccess({ registry, workflow: workflowsOf(workflows, owner, registry) }),
        redact: (text) => redactor.of(scopedKey(owner)).text(text),
      }),
    budget: (paid) => budgets.job(() => paid(CURRENCY)),
    ended: endMetrics(metrics),
    cipher: vault.cipher('journal'),
    spilled: parts.spilled,
    publisherOf: (owner) => publisherWith(redactor.of(scopedKey(owner)), { assets, temporary }),
  })
  const workflow_models = new WorkflowModels({ workflows, jobs, events, slices, reading })
  const completions = new Completions({
    models: parts.models,
    workflows: workflow_models,
    redactorOf: (owner) => redactor.of(scopedKey(owner)),
    customerOf,
    httpOf: (owner) => services.httpOf(userKey(owner)),
    assetsOf,
    platform,
    log,
    measuring: measuring(metrics),
    slices,
    stopping,
  })
  const chat = new Chat({
    store,
    slices,
    platform,
    log,
    completions,
    choices: { providers: parts.providers, listings: parts.listings, customerOf },
    tool_box: workflowTools({ workflows, jobs, store, slices }),
    redacting: redactingWith(redactor),
    limits: overrides.chat_limits,
  })
  const preflight = new Preflight({
    workflows,
    registry,
    jobs,
    log,
    publicUrl,
    providers: parts.providers,
    probes: new Probes({ listings: parts.listings, log }),
    credentials: secrets,
    provider_credentials: { value: (owner, name) => secrets.providerKey(owner, name) },
    runtimes: new Map((overrides.runtimes ?? []).map((runtime) => [runtime.name, runtime])),
    assets: files,
    budgets,
    reading,
  })
  for (const warning of config.warnings) log.warn(warning)
  const audit = new Audit(log, config)
  const tokens = createTokens(config, { store, platform, log, vault, publicUrl })
  const principalOf = createGate(config, createTokenChecks(config, tokens, parts.identity), { log, platform })
  const rechecks = new Rechecks(principalOf, { log, platform }, overrides.socket_times?.recheck_ms)
  const fileSweeps = [
    () => objects.sweep(FILES_SWEPT, stopping),
    () => folder_removals.finish(),
    () => contents.sweepUnreferenced(FILES_SWEPT),
    () => temporary.sweep(FILES_SWEPT, stopping),
    () => parts.spilled.sweep(),
  ]
  const retention = new Retention({
    store,
    platform,
    log,
    job_days: config.job_retention_days,
    early_keys: jobs.early_keys,
    fileSweeps,
  })
  const started_at = platform.now()
  const known = {
    config,
    log,
    platform,
    slices,
    reading,
    payloads,
    followed: new Followed('jobs', overrides.most_followed ?? MOST_JOBS),
    followed_threads: new Followed('threads', overrides.most_followed_threads ?? MOST_THREADS),
    held: new HeldAnswers(log, { most: overrides.held_most ?? heldAtMost(config.max_body_bytes) }),
    redactor,
    cursors,
    vault,
    limiter: new RateLimiter(config, platform),
    audit,
    tokens,
    principalOf,
    rechecks,
    store,
    secrets,
    settings,
    assets,
    library,
    objects,
    previews,
    folder_removals,
    temporary,
    files,
    upload_pace: parts.upload_pace,
    own_requests: parts.own_requests,
    registry,
    providers: parts.providers,
    listings: parts.listings,
    models: parts.models,
    downloads: parts.downloads,
    customerOf,
    ledger,
    completions,
    chat,
    workflow_models,
    events,
    workflows,
    jobs,
    preflight,
  }
  jobMetrics(metrics, known)
  return { ...known, retention, metrics, stopping, started_at }
}

/** Known to the redactor before anything is said of what is stored. The environment's are the local user's, who is in no workspace. */
function openSecrets(config: Config, parts: Parts, registry: NodeRegistry): Secrets {
  const secrets = new Secrets({
    ...parts,
    purposes: secretPurposes(registry, parts.providers.all()),
    provider_keys: config.provider_keys,
    given: ({ user_id, workspace_id }) => (user_id === LOCAL_USER && workspace_id === null ? config.secrets : {}),
  })
  secrets.load()
  // The service's as well: no other user may see them. In texts of the local user that come in pieces, what begins one waits.
  const local = scopedKey({ user_id: LOCAL_USER, workspace_id: null })
  for (const secret of Object.values(config.secrets)) parts.redactor.add(secret, local)
  return secrets
}

/**
 * How many connections the system takes before the service has looked at them. Of more it takes none, and whoever connects tries again after a second: with Node's
 * 511, one user's burst made others wait. The system may have a lower limit (`net.core.somaxconn`).
 */
export const CONNECTIONS_IN_WAITING = 4_096

function listen(http: Server, { host, port }: Config): Promise<string> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)))
    http.listen({ port, host, backlog: CONNECTIONS_IN_WAITING }, () => {
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

function once<A extends unknown[]>(run: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
  let running: Promise<void> | null = null
  return (...args) => {
    running ??= run(...args)
    return running
  }
}
