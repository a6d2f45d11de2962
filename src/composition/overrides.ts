// The parts of a server that a test may replace.
import type { ChatLimits } from '../chat/limits.ts'
import type { NodeRegistry } from '../engine/node-api/node-type.ts'
import type { ListenerLimits } from '../http/connection/listener.ts'
import type { NodeRuntime } from '../lifecycle/preflight/probes.ts'
import type { Log } from '../log.ts'
import type { Provider } from '../models/provider.ts'
import type { LocalModelServer } from '../models/providers/local-server-discovery.ts'
import type { FairMemoryAccount } from '../payloads/fair-memory-account.ts'
import type { Platform } from '../platform.ts'
import type { SocketTimeouts } from '../sockets/keep-alive.ts'

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
