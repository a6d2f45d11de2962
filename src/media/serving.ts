// The loop of a process that works on files: one task after the other, each from the module of its family.
import { Assembly, type Ops, piecesOf } from '../engine/pieces.ts'
import type { MediaFaultType } from './fault.ts'
import { MediaFault } from './fault.ts'
import { type FilePart, GatheredFiles, partsOf } from './file-parts.ts'
import type { FromMedia, MediaOrder, ToMedia } from './protocol.ts'

export interface Made {
  /** Files that the task made. */
  readonly files?: readonly Uint8Array[]
  /** What else it found: plain data. */
  readonly value?: unknown
}

type Params = Readonly<Record<string, unknown>>

/** @throws MediaFault for what is wrong with the files or the parameters; anything else is a defect of ours */
export type Task = (files: readonly Uint8Array[], params: Params) => Promise<Made> | Made
export type Tasks = Readonly<Record<string, Task>>
/** What comes before the dot of a task's name, and how its module is read: when it is first needed. */
export type Families = Readonly<Record<string, () => Promise<Tasks>>>

/** Where a process hears and says things, and how it ends. */
export interface Channel {
  hear(listener: (message: ToMedia) => void): void
  say(message: FromMedia): void
}

export function serve(families: Families, channel: Channel): void {
  let params = new Assembly()
  let given = new GatheredFiles()
  channel.hear(async (message) => {
    // What cannot be read is told by the task itself.
    if (message.kind === 'warm') return void (await found(families, message.task).catch(() => {}))
    if (message.kind !== 'files') params.add(message.ops)
    if (message.kind !== 'piece') given.add(message.parts)
    if (message.kind !== 'run') return
    const [whole, { files }] = [params.value as Params, given]
    params = new Assembly()
    given = new GatheredFiles()
    await answer(families, message, { files, params: whole }, channel)
  })
}

async function answer(
  families: Families,
  { id, task }: MediaOrder,
  { files, params }: { files: readonly Uint8Array[]; params: Params },
  channel: Channel,
): Promise<void> {
  try {
    const run = await found(families, task)
    const made = await run(files, params)
    let last: Ops | null = null
    for (const ops of piecesOf(made.value ?? null)) {
      if (last) channel.say({ id, kind: 'piece', ops: last })
      last = ops
    }
    let parts: readonly FilePart[] | null = null
    for (const some of partsOf(made.files ?? [])) {
      if (parts) channel.say({ id, kind: 'files', parts })
      parts = some
    }
    channel.say({ id, kind: 'done', parts: parts!, ops: last! })
  } catch (error) {
    channel.say({ id, kind: 'refused', ...refusalOf(error) })
  }
}

async function found(families: Families, task: string): Promise<Task> {
  const family = families[task.slice(0, task.indexOf('.'))]
  const run = (await family?.())?.[task]
  if (!run) throw new Error(`there is no task ${task}`)
  return run
}

function refusalOf(error: unknown): { type: MediaFaultType | 'failed'; message: string; detail: string } {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  if (error instanceof MediaFault) return { type: error.type, message: error.message, detail }
  return { type: 'failed', message: '', detail }
}
