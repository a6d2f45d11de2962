// The entry point of the process that runs one local model. A crash of native code ends only this process. The process ends with its server.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LlamaPackage } from './llama-cpp-types.ts'
import { ContextExceededError, LocalModelSession, SchemaGrammarError } from './model-session.ts'
import type { ModelProcessCommand, ModelProcessReply } from './process-messages.ts'

/** In characters, of the runtime's log that is kept. */
const MAX_DETAIL_LENGTH = 2_000

const tasks = new Map<number, AbortController>()
let session: LocalModelSession | null = null
let runtime: LlamaPackage | null = null
let runtimeLog = ''

function sendMessage(message: ModelProcessReply): void {
  process.send?.(message)
}

async function loadModel({ place, path, most_context }: Extract<ModelProcessCommand, { kind: 'load' }>): Promise<void> {
  try {
    const found = createRequire(join(place, 'index.js')).resolve('node-llama-cpp')
    runtime = (await import(pathToFileURL(found).href)) as LlamaPackage
  } catch (error) {
    return sendMessage({ kind: 'unloadable', reason: 'runtime', detail: formatDetail(error) })
  }
  const log = (text: string) => {
    runtimeLog = `${runtimeLog}${text}\n`.slice(-MAX_DETAIL_LENGTH)
  }
  try {
    session = await LocalModelSession.load(runtime, { path, most_context, log })
    sendMessage({ kind: 'loaded' })
  } catch (error) {
    sendMessage({
      kind: 'unloadable',
      reason: isOutOfMemory(error) ? 'memory' : classifyLoadError(error),
      detail: formatDetail(error),
    })
  }
}

/** The runtime names only a missing binary by an error name. Other errors for a readable file count as a fault of the file. */
function classifyLoadError(error: unknown): 'file' | 'runtime' {
  return (error as Error).name === 'NoBinaryFoundError' ? 'runtime' : 'file'
}

function isOutOfMemory(error: unknown): boolean {
  return runtime !== null && error instanceof runtime.InsufficientMemoryError
}

function formatDetail(error: unknown): string {
  return `${(error as Error).message}\n${runtimeLog}`.slice(0, MAX_DETAIL_LENGTH)
}

/** A stopped task also ends with `done`. */
async function runTask(
  id: number,
  run: (loaded: LocalModelSession, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  tasks.set(id, stop)
  try {
    await run(session!, stop.signal)
    sendMessage({ kind: 'done', id })
  } catch (error) {
    sendMessage(stop.signal.aborted ? { kind: 'done', id } : createRefusal(id, error))
  } finally {
    tasks.delete(id)
  }
}

function createRefusal(id: number, error: unknown): ModelProcessReply {
  const detail = formatDetail(error)
  if (error instanceof ContextExceededError)
    return { kind: 'refused', id, fault: 'rejected', what: error.what, param: null, detail }
  if (error instanceof SchemaGrammarError) {
    const what = 'cannot follow this schema'
    return { kind: 'refused', id, fault: 'unsupported', what, param: 'response_format', detail }
  }
  const what = isOutOfMemory(error) ? 'does not have enough memory' : 'failed'
  return { kind: 'refused', id, fault: 'failed', what, param: null, detail }
}

function handleMessage(message: ModelProcessCommand): Promise<void> | void {
  if (message.kind === 'load') return loadModel(message)
  const { id } = message
  if (message.kind === 'stop') return tasks.get(id)?.abort()
  if (message.kind === 'embed') {
    return runTask(id, async (loaded, signal) => {
      const emit = (vector: readonly number[]) => sendMessage({ kind: 'vector', id, vector })
      sendMessage({ kind: 'embedded', id, input_tokens: await loaded.embed(message.inputs, emit, signal) })
    })
  }
  return runTask(id, (loaded, signal) =>
    loaded.complete(message.request, (part) => sendMessage({ kind: 'part', id, part }), signal),
  )
}

process.on('message', (message) => void handleMessage(message as ModelProcessCommand))
process.on('disconnect', () => process.exit())
// Ctrl-C in a terminal is for the server, which gives running work time to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
