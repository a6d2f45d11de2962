// The process that runs one local model for a server: what the native code in it does wrong ends this process alone. It ends with its server.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FromLocal, ToLocal } from './local-protocol.ts'
import type { LlamaPackage } from './local-runtime.ts'
import { BadSchema, LocalSession, TooLong } from './local-session.ts'

/** How much is kept of what the runtime complains of. */
const MOST_DETAIL = 2_000

const work = new Map<number, AbortController>()
let session: LocalSession | null = null
let runtime: LlamaPackage | null = null
let complaints = ''

function say(message: FromLocal): void {
  process.send?.(message)
}

async function load({ place, path, most_context }: Extract<ToLocal, { kind: 'load' }>): Promise<void> {
  try {
    const found = createRequire(join(place, 'index.js')).resolve('node-llama-cpp')
    runtime = (await import(pathToFileURL(found).href)) as LlamaPackage
  } catch (error) {
    return say({ kind: 'unloadable', reason: 'runtime', detail: detailOf(error) })
  }
  const log = (text: string) => {
    complaints = `${complaints}${text}\n`.slice(-MOST_DETAIL)
  }
  try {
    session = await LocalSession.load(runtime, { path, most_context, log })
    say({ kind: 'loaded' })
  } catch (error) {
    say({ kind: 'unloadable', reason: lacksMemory(error) ? 'memory' : reasonOf(error), detail: detailOf(error) })
  }
}

/** Of a file that is there and readable, the runtime says in its own words what is wrong; without its binary it says so by a name. */
function reasonOf(error: unknown): 'file' | 'runtime' {
  return (error as Error).name === 'NoBinaryFoundError' ? 'runtime' : 'file'
}

function lacksMemory(error: unknown): boolean {
  return runtime !== null && error instanceof runtime.InsufficientMemoryError
}

function detailOf(error: unknown): string {
  return `${(error as Error).message}\n${complaints}`.slice(0, MOST_DETAIL)
}

/** Answers with `done` also where it was stopped. */
async function answer(id: number, run: (loaded: LocalSession, signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  work.set(id, stop)
  try {
    await run(session!, stop.signal)
    say({ kind: 'done', id })
  } catch (error) {
    say(stop.signal.aborted ? { kind: 'done', id } : refusalOf(id, error))
  } finally {
    work.delete(id)
  }
}

function refusalOf(id: number, error: unknown): FromLocal {
  const detail = detailOf(error)
  if (error instanceof TooLong) return { kind: 'refused', id, fault: 'rejected', what: error.what, param: null, detail }
  if (error instanceof BadSchema) {
    const what = 'cannot be made to keep to this schema'
    return { kind: 'refused', id, fault: 'unsupported', what, param: 'response_format', detail }
  }
  const what = lacksMemory(error) ? 'finds too little memory' : 'failed'
  return { kind: 'refused', id, fault: 'failed', what, param: null, detail }
}

function take(message: ToLocal): Promise<void> | void {
  if (message.kind === 'load') return load(message)
  const { id } = message
  if (message.kind === 'stop') return work.get(id)?.abort()
  if (message.kind === 'embed') {
    return answer(id, async (loaded, signal) => {
      const give = (vector: readonly number[]) => say({ kind: 'vector', id, vector })
      say({ kind: 'embedded', id, input_tokens: await loaded.embed(message.inputs, give, signal) })
    })
  }
  return answer(id, (loaded, signal) =>
    loaded.complete(message.request, (part) => say({ kind: 'part', id, part }), signal),
  )
}

process.on('message', (message) => void take(message as ToLocal))
process.on('disconnect', () => process.exit())
// A terminal's Ctrl-C is for the server, which gives what runs the time to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
