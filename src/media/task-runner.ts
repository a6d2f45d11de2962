// The loop of a process that works on files: one task after the other, each from the module of its family.
import { splitValue, ValueAssembler, type ValueFragment } from '../engine/node-api/values/fragments.ts'
import type { MediaFaultType } from './fault.ts'
import { MediaFault } from './fault.ts'
import { FileAssembler, type FilePart, splitFiles } from './file-transfer.ts'
import type { FromMediaWorker, MediaRunMessage, ToMediaWorker } from './protocol.ts'

export interface MediaTaskResult {
  /** Files that the task made. */
  readonly files?: readonly Uint8Array[]
  /** What else it found: plain data. */
  readonly value?: unknown
}

type Params = Readonly<Record<string, unknown>>

/** @throws MediaFault for what is wrong with the files or the parameters; anything else is a defect of ours */
export type MediaTaskHandler = (
  files: readonly Uint8Array[],
  params: Params,
) => Promise<MediaTaskResult> | MediaTaskResult
export type MediaTaskHandlers = Readonly<Record<string, MediaTaskHandler>>
/** What comes before the dot of a task's name, and how its module is read: when it is first needed. */
export type MediaTaskModules = Readonly<Record<string, () => Promise<MediaTaskHandlers>>>

/** Where a process hears and says things, and how it ends. */
export interface MediaChannel {
  onMessage(listener: (message: ToMediaWorker) => void): void
  send(message: FromMediaWorker): void
}

export function serveMediaTasks(families: MediaTaskModules, channel: MediaChannel): void {
  let params = new ValueAssembler()
  let given = new FileAssembler()
  channel.onMessage(async (message) => {
    // What cannot be read is told by the task itself.
    if (message.kind === 'warm') return void (await loadHandler(families, message.task).catch(() => {}))
    if (message.kind !== 'files') params.add(message.ops)
    if (message.kind !== 'piece') given.add(message.parts)
    if (message.kind !== 'run') return
    const [whole, { files }] = [params.value as Params, given]
    params = new ValueAssembler()
    given = new FileAssembler()
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
    const made = await run(files, params)
    let last: ValueFragment | null = null
    for (const ops of splitValue(made.value ?? null)) {
      if (last) channel.send({ id, kind: 'piece', ops: last })
      last = ops
    }
    let parts: readonly FilePart[] | null = null
    for (const some of splitFiles(made.files ?? [])) {
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
