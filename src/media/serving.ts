// The loop of a process that works on files: one task after the other, each from the module of its family.
import type { MediaFaultType } from './fault.ts'
import { MediaFault } from './fault.ts'
import type { FromMedia, MediaOrder, ToMedia } from './protocol.ts'

export interface Made {
  /** Files that the task made. */
  readonly files?: readonly Uint8Array[]
  /** What else it found: plain data. */
  readonly value?: unknown
}

/** @throws MediaFault for what is wrong with the files or the parameters; anything else is a defect of ours */
export type Task = (files: readonly Uint8Array[], params: Readonly<Record<string, unknown>>) => Promise<Made> | Made
export type Tasks = Readonly<Record<string, Task>>
/** What comes before the dot of a task's name, and how its module is read: when it is first needed. */
export type Families = Readonly<Record<string, () => Promise<Tasks>>>

/** Where a process hears and says things, and how it ends. */
export interface Channel {
  hear(listener: (message: ToMedia) => void): void
  say(message: FromMedia): void
}

export function serve(families: Families, channel: Channel): void {
  channel.hear(async (message) => {
    if (message.kind === 'run') channel.say(await answered(families, message))
    // What cannot be read is told by the task itself.
    else await found(families, message.task).catch(() => {})
  })
}

async function answered(families: Families, { id, task, files, params }: MediaOrder): Promise<FromMedia> {
  try {
    const run = await found(families, task)
    const made = await run(files, params)
    return { id, kind: 'done', files: made.files ?? [], value: made.value ?? null }
  } catch (error) {
    return { id, kind: 'refused', ...refusalOf(error) }
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
