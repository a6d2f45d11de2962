// The two sockets of one life. The first starts jobs and sends them values; the
// second only follows. At the end, the frames of each are sorted by job.
import { type Client, connect, type Frame, isEnding } from '../helpers/socket.ts'
import type { Ledger, TrackedJob } from './ledger.ts'
import type { Life } from './life.ts'

/** A socket that records the requested sequences of each job. */
export class WatchingSocket {
  readonly name: string
  readonly client: Client
  readonly #asked = new Map<string, number[]>()

  constructor(name: string, client: Client) {
    this.name = name
    this.client = client
  }

  /** Follows a job from the last sequence of its SSE follower. Both must get the same events from there. */
  reconnect(job: TrackedJob): void {
    const after_sequence = job.random.chance(0.2) ? 0 : job.sse.last
    const job_id = job.job_id!
    this.#asked.set(job_id, [...(this.#asked.get(job_id) ?? []), after_sequence])
    this.client.command('reconnect_job', { job_id, after_sequence })
  }

  /** Whether it has seen the end of every job that it followed. */
  get caughtUp(): boolean {
    const open = new Set<string>()
    for (const frame of this.client.frames) {
      if (frame.job_id === undefined) continue
      if (frame.type === 'job_resumed' || isStart(frame)) open.add(frame.job_id)
      if (isEnding(frame)) open.delete(frame.job_id)
    }
    return open.size === 0
  }

  /** Closes the socket, and adds its frames to the jobs. `whole`: it was open until all of them had ended. */
  async finish(ledger: Ledger, whole: boolean): Promise<void> {
    await this.client[Symbol.asyncDispose]().catch((error) => ledger.complain(`${this.name}: ${error}`))
    const jobs = new Map(ledger.jobs.map((job) => [job.job_id, job]))
    const open = new Map<string, Frame[]>()
    for (const frame of this.client.frames) {
      const job = jobs.get(frame.job_id ?? null)
      if (!job) continue
      const job_id = job.job_id!
      if (frame.type === 'job_resumed' || isStart(frame)) {
        const asked = frame.type === 'job_resumed' ? (this.#asked.get(job_id)?.shift() ?? 0) : null
        const frames: Frame[] = []
        open.set(job_id, frames)
        job.sockets.push({ socket: this.name, asked, frames, whole: whole && job.ended })
      }
      if (frame.type !== undefined) open.get(job_id)?.push(frame)
    }
  }
}

/** The acknowledgement of a `run_job`. */
function isStart({ type, request_id }: Frame): boolean {
  return type === undefined && String(request_id).startsWith('run-')
}

export async function openSocket(name: string, life: Life, mode: 'binary' | 'text'): Promise<WatchingSocket> {
  return new WatchingSocket(name, await connect({ url: life.follow_url }, { mode }))
}
