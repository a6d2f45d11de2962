// Runs the tasks of a media process one after the other. Each task comes from the module of its family.
import { splitValue, ValueAssembler, type ValueFragment } from '../engine/node-api/values/fragments.ts'
import type { MediaFaultType } from './fault.ts'
import { MediaFault } from './fault.ts'
import { FileAssembler, type FilePart, splitFiles } from './file-transfer.ts'
import type { FromMediaWorker, MediaRunMessage, ToMediaWorker } from './protocol.ts'

export interface MediaTaskResult {
  /** Files that the task made. */
  readonly files?: readonly Uint8Array[]
  /** The other result: plain data. */
  readonly value?: unknown
}

type Params = Readonly<Record<string, unknown>>

/** @throws MediaFault for a fault of the files or the parameters; any other error is a bug of this service */
export type MediaTaskHandler = (
  files: readonly Uint8Array[],
  params: Params,
) => Promise<MediaTaskResult> | MediaTaskResult
export type MediaTaskHandlers = Readonly<Record<string, MediaTaskHandler>>
/** By family, the part of a task's name before the dot. A module is loaded when it is first needed. */
export type MediaTaskModules = Readonly<Record<string, () => Promise<MediaTaskHandlers>>>

/** The process's connection to the server. */
export interface MediaChannel {
  onMessage(listener: (message: ToMediaWorker) => void): void
  send(message: FromMediaWorker): void
}

export function serveMediaTasks(families: MediaTaskModules, channel: MediaChannel): void {
  let params = new ValueAssembler()
  let assembler = new FileAssembler()
  channel.onMessage(async (message) => {
    // A failed load is ignored here: the task itself reports it.
    if (message.kind === 'warm') return void (await loadHandler(families, message.task).catch(() => {}))
    if (message.kind !== 'files') params.add(message.ops)
    if (message.kind !== 'piece') assembler.add(message.parts)
    if (message.kind !== 'run') return
    const [whole, { files }] = [params.value as Params, assembler]
    params = new ValueAssembler()
    assembler = new FileAssembler()
    await runTask(families, message, { files, params: whole }, channel)
  })
}

async function runTask(
  families: MediaTaskModules,
  { id, task }: MediaRunMessage,
  { files, params }: { files: readonly Uint8Array[]; params: Params },
  channel: MediaChannel,
): Promise<void> {
  try {
    const run = await loadHandler(families, task)
    const result = await run(files, params)
    let last: ValueFragment | null = null
    for (const ops of splitValue(result.value ?? null)) {
      if (last) channel.send({ id, kind: 'piece', ops: last })
      last = ops
    }
    let parts: readonly FilePart[] | null = null
    for (const some of splitFiles(result.files ?? [])) {
      if (parts) channel.send({ id, kind: 'files', parts })
      parts = some
    }
    channel.send({ id, kind: 'done', parts: parts!, ops: last! })
  } catch (error) {
    channel.send({ id, kind: 'refused', ...describeError(error) })
  }
}

async function loadHandler(families: MediaTaskModules, task: string): Promise<MediaTaskHandler> {
  const family = families[task.slice(0, task.indexOf('.'))]
  const run = (await family?.())?.[task]
  if (!run) throw new Error(`there is no task ${task}`)
  return run
}

function describeError(error: unknown): { type: MediaFaultType | 'failed'; message: string; detail: string } {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (error instanceof MediaFault) return { type: error.type, message: error.message, detail }
  return { type: 'failed', message: '', detail }
}
