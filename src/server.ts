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
import { openAssets } from './assets/open.ts'
import type { Config } from './config.ts'
import type { AppContext } from './context.ts'
import { openDataFolder, ownDatabase } from './db/data-folder.ts'
import { scopedKey } from './db/scope.ts'
import { KeyFacts } from './db/sealed.ts'
import { Store } from './db/store.ts'
import type { NodeRegistry } from './engine/node-type.ts'
import { EventLog } from './events/log.ts'
import { createApp } from './http/app.ts'
import { createListener, type ListenerLimits } from './http/listener.ts'
import { readTarget } from './http/target.ts'
import { commitMetrics, endMetrics, jobMetrics } from './jobs/metrics.ts'
import { publisherWith } from './jobs/publisher.ts'
import { Retention } from './jobs/retention.ts'
import { JobService } from './jobs/service.ts'
import { storedSnapshot } from './jobs/snapshot.ts'
import { createLog, type Log } from './log.ts'
import { Metrics } from './metrics.ts'
import { builtinNodes } from './nodes/registry.ts'
import { type Platform, systemPlatform } from './platform.ts'
import { Redactor } from './redaction/redactor.ts'
import { createServices, type Services } from './services.ts'
import { secretPurposes } from './settings/purposes.ts'
import { settingTypes } from './settings/registry.ts'
import { Secrets } from './settings/secrets.ts'
import { Settings } from './settings/settings.ts'
import { Gateway } from './sockets/gateway.ts'
import type { SocketTimes } from './sockets/keep-alive.ts'
import { StartError } from './start-error.ts'
import { openVault } from './vault/open.ts'
import type { Vault } from './vault/vault.ts'
import { Plans } from './workflows/plans.ts'
import { WorkflowService } from './workflows/service.ts'

/** What a test may hold in its own hands. */
export interface Overrides {
  platform?: Platform
  log?: Log
  registry?: NodeRegistry
  socket_times?: Partial<SocketTimes>
  listener?: Partial<ListenerLimits>
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
    if (elsewhere !== null && elsewhere !== ':memory:') owned.use(ownDatabase(elsewhere, owner))
    return await startIn(owned, elsewhere ?? folder.database, config, overrides)
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
): Promise<RunningServer> {
  const redactor = new Redactor(config.known_secrets)
  const log = overrides.log ?? createLog(config.log_level, redactor)
  const metrics = new Metrics()
  const committed = commitMetrics(metrics)
  const store = await Store.open(database, { durability: config.durability, log, committed })
  const services = createServices(config)
  const http = createListener(log, { trusted_proxies: config.trusted_proxies, ...overrides.listener })
  try {
    const state = { url: '' }
    const { vault, key, warning } = await openVault(config.data_dir, config.secrets_master_key, new KeyFacts(store))
    redactor.add(key)
    if (warning !== null) log.warn(warning)
    const stopping = new AbortController()
    const files_dir = database === ':memory:' ? temporaryFolder(owned) : config.data_dir
    const platform = overrides.platform ?? systemPlatform()
    const identity = await identityOf(config, { platform, log, stopping: stopping.signal })
    const known = { log, platform, redactor, vault, identity, store, services, metrics, files_dir }
    const parts = { ...known, stopping: stopping.signal }
    const context = composeContext(config, parts, overrides, () => config.public_url ?? state.url)
    const recovered = await context.jobs.restore()
    if (recovered.running + recovered.waiting + recovered.ended > 0)
      log.info(recovered, 'jobs of an earlier process go on')
    const gateway = new Gateway(context, overrides.socket_times)
    const { app, warmUp } = createApp(context)
    http.on('request', (request, response) => app(readTarget(request), response))
    http.on('upgrade', (request, socket, head) => gateway.upgrade(request, socket, head))
    state.url = await listen(http, config)
    context.retention.start()
    context.jobs.open()
    setTimeout(
      () => void warmUp().catch((error) => context.log.error({ err: error }, 'the warm-up failed')),
      WARM_UP_MS,
    ).unref()
    const close = once(async (drain_ms: number) => {
      await context.jobs.drain(drain_ms)
      stopping.abort()
      await context.retention[Symbol.asyncDispose]()
      await gateway.close()
      await closeHttp(http)
      await context.tokens.access[Symbol.asyncDispose]()
      context.audit[Symbol.dispose]()
      await services[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      owned.dispose()
    })
    return { url: state.url, context, close: (ms = DRAIN_MS) => close(ms), [Symbol.asyncDispose]: () => close(0) }
  } catch (error) {
    http.close()
    await services[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
    throw error
  }
}

const DRAIN_MS = 30_000
/** How many files of assets are looked at in one round of the sweep. */
const FILES_SWEPT = 500
const LAST_ANSWERS_MS = 2_000
const IDLE_CHECK_MS = 20
/** After the first answers: a process that was just started has better things to do. */
const WARM_UP_MS = 1_000

/** Files of assets are kept as long as their rows: a database in memory gets a folder that goes with it. */
function temporaryFolder(owned: DisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-files-'))
  owned.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
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
  readonly metrics: Metrics
  /** Where the bytes of assets are. */
  readonly files_dir: string
  readonly stopping: AbortSignal
}

function composeContext(config: Config, parts: Parts, overrides: Overrides, publicUrl: () => string): AppContext {
  const { log, platform, store, services, redactor, vault, metrics, stopping } = parts
  const assets = openAssets(parts.files_dir, store, platform, vault.signingKey('storage'))
  const registry = overrides.registry ?? builtinNodes
  const events = new EventLog(store, (job_key) => storedSnapshot(store, job_key))
  const plans = new Plans(store, registry)
  const workflows = new WorkflowService(store, plans, platform, publicUrl)
  const secrets = openSecrets(config, parts, registry)
  const settings = new Settings({ store, platform, types: settingTypes(config.job_timeout_seconds) })
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
    servicesOf: (owner) => services.of((name) => secrets.value(owner, name)),
    ended: endMetrics(metrics),
    cipher: vault.cipher('journal'),
    publisherOf: (owner) => publisherWith(redactor.of(scopedKey(owner)), assets),
  })
  for (const warning of config.warnings) log.warn(warning)
  const audit = new Audit(log, config)
  const tokens = createTokens(config, { store, platform, log, vault, publicUrl })
  const principalOf = createGate(config, createTokenChecks(config, tokens, parts.identity), { log, platform })
  const rechecks = new Rechecks(principalOf, { log, platform }, overrides.socket_times?.recheck_ms)
  const sweepFiles = () => assets.sweepUnreferenced(FILES_SWEPT)
  const retention = new Retention({ store, platform, log, job_days: config.job_retention_days, sweepFiles })
  const started_at = platform.now()
  const known = {
    config,
    log,
    platform,
    redactor,
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
    registry,
    events,
    workflows,
    jobs,
  }
  jobMetrics(metrics, known)
  return { ...known, retention, metrics, stopping, started_at }
}

/** Known to the redactor before anything is said of what is stored. The environment's are the local user's, who is in no workspace. */
function openSecrets(config: Config, parts: Parts, registry: NodeRegistry): Secrets {
  const secrets = new Secrets({
    ...parts,
    purposes: secretPurposes(registry),
    given: ({ user_id, workspace_id }) => (user_id === LOCAL_USER && workspace_id === null ? config.secrets : {}),
  })
  secrets.load()
  return secrets
}

function listen(http: Server, { host, port }: Config): Promise<string> {
  return new Promise((resolve, reject) => {
    http.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port)))
    http.listen(port, host, () => {
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

/** Takes no more connections, lets the answers that are under way go out, and cuts what is left after that. */
function closeHttp(http: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => http.closeIdleConnections(), IDLE_CHECK_MS)
    const cut = setTimeout(() => http.closeAllConnections(), LAST_ANSWERS_MS)
    http.close(() => {
      clearInterval(idle)
      clearTimeout(cut)
      resolve()
    })
  })
}

function once<A extends unknown[]>(run: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
  let running: Promise<void> | null = null
  return (...args) => {
    running ??= run(...args)
    return running
  }
}
