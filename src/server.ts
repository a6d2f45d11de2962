// A server as a value: `createServer` composes its services, opens the transports, starts the work, and returns how to close it.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { composeFoundation, type Foundation } from './composition/foundation.ts'
import { scheduleModelServerDiscovery } from './composition/model-server-discovery.ts'
import type { ServerOverrides } from './composition/overrides.ts'
import { composeServices } from './composition/services.ts'
import { type Database, openDatabase } from './composition/storage.ts'
import type { Config } from './config.ts'
import type { AppContext } from './context.ts'
import { startErrorForFault } from './db/health/database-faults.ts'
import { ServiceError } from './errors.ts'
import { createApp } from './http/app.ts'
import { listen } from './http/connection/listen.ts'
import { serializeRequests } from './http/connection/pipelining.ts'
import { normalizeRequestTarget } from './http/connection/request-target.ts'
import type { Log } from './log.ts'
import { heapShareBytes } from './payloads/fair-memory-account.ts'
import { SocketGateway } from './sockets/gateway.ts'

export interface RunningServer extends AsyncDisposable {
  /** `http://host:port` with the actual port. */
  readonly url: string
  readonly context: AppContext
  /** Refuses new work, gives running jobs up to `drain_ms`, then closes everything. */
  close(drain_ms?: number): Promise<void>
}

const DRAIN_MS = 30_000
/** The warm-up follows the first answers, so that it does not delay the start. */
const WARM_UP_MS = 1_000
/** A smaller heap keeps for its first requests the tens of megabytes that the warm-up takes. */
const WARM_UP_HEAP_BYTES = 128 * 1_048_576

/**
 * Starts the service.
 * @throws StartError in one clear line: port in use, data folder taken or not writable, database unusable
 */
export async function createServer(config: Config, overrides: ServerOverrides = {}): Promise<RunningServer> {
  const stack = new AsyncDisposableStack()
  const stopping = new AbortController()
  const release = async () => {
    stopping.abort()
    await stack.disposeAsync()
  }
  let log: Log | null = null
  try {
    const address = { url: '' }
    const publicUrl = () => config.public_url ?? address.url
    const foundation = composeFoundation(config, overrides, { stack, stopping: stopping.signal, publicUrl })
    log = foundation.log
    const database = await openDatabase(foundation)
    const context = await startServer(foundation, database, address).catch((error) => {
      throw explainByFault(error, database)
    })
    const close = callOnce((drain_ms: number) => drainWork(context, drain_ms).finally(release))
    const { url } = address
    return { url, context, close: (ms = DRAIN_MS) => close(ms), [Symbol.asyncDispose]: () => close(0) }
  } catch (error) {
    // The caller is told why the start failed, whatever follows from it.
    await release().catch((fault) => log?.error({ err: fault }, 'what a failed start had made could not be released'))
    throw error
  }
}

/** Sets `address.url` once the server listens: its services read it. */
async function startServer(foundation: Foundation, database: Database, address: { url: string }): Promise<AppContext> {
  const { config, log, overrides, stack } = foundation
  const { context, listener, client } = await composeServices(foundation, database)
  await restoreWork(context)
  const warmUp = openTransports(foundation, context, listener)
  address.url = await listen(listener, config)
  const { port: own_port } = listener.address() as AddressInfo
  if (config.probe_local_models)
    scheduleModelServerDiscovery(context, { client, own_port, servers: overrides.local_servers })
  startBackgroundWork(context, stack)
  scheduleWarmUp(warmUp, log)
  database.reserved_space?.keepReserved()
  return context
}

/** Takes over what an earlier process left unfinished. Nothing of it runs yet. */
async function restoreWork({ chat, log, runs }: AppContext): Promise<void> {
  const recovered = await runs.jobs.restore()
  if (recovered.running + recovered.waiting + recovered.ended > 0)
    log.info(recovered, 'jobs of an earlier process are resumed')
  const interrupted = await chat.turns.restore()
  if (interrupted > 0)
    log.info({ turns: interrupted }, 'turns that an earlier process left unfinished are stored as interrupted')
}

/** Connects the transports to the listener. Returns the warm-up. */
function openTransports({ overrides, stack }: Foundation, context: AppContext, listener: Server): () => Promise<void> {
  const gateway = new SocketGateway(context, overrides.socket_times)
  stack.defer(() => gateway.close())
  const { app, warmUp } = createApp(context, overrides)
  listener.on(
    'request',
    serializeRequests((request, response) => app(normalizeRequestTarget(request), response)),
  )
  listener.on('upgrade', (request, socket, head) => gateway.upgrade(request, socket, head))
  return warmUp
}

/** Work that starts last ends first. A sweep also finishes removals of folders, so that it has to end before these. */
function startBackgroundWork({ assets, runs }: AppContext, stack: AsyncDisposableStack): void {
  stack.use(assets.folder_removals).begin()
  stack.use(assets.previews).start()
  stack.use(runs.retention).start()
  runs.jobs.startRestored()
}

function scheduleWarmUp(warmUp: () => Promise<void>, log: Log): void {
  if (heapShareBytes(1) < WARM_UP_HEAP_BYTES) return
  const run = () => void warmUp().catch((error) => log.error({ err: error }, 'the warm-up failed'))
  setTimeout(run, WARM_UP_MS).unref()
}

/** Turns go on while jobs drain: they may wait for jobs. Only then everything that is still open is told to stop. */
async function drainWork({ chat, runs }: AppContext, drain_ms: number): Promise<void> {
  chat.turns.close()
  await runs.jobs.drain(drain_ms)
  await chat.turns.end()
}

/** A fault of the database explains the failures that follow from it. */
function explainByFault(error: unknown, { path, store: { fault } }: Database): unknown {
  return fault !== null && error instanceof ServiceError ? startErrorForFault(fault, path, error) : error
}

function callOnce<A extends unknown[]>(run: (...args: A) => Promise<void>): (...args: A) => Promise<void> {
  let running: Promise<void> | null = null
  return (...args) => {
    running ??= run(...args)
    return running
  }
}
