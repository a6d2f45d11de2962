// The turns that are under way: one in a thread at most. A new message supersedes the one before; whoever follows a thread hears of all of them.
import type { MessageContent } from '../../generated/types.ts'
import type { MessageTable, ThreadTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Tx } from '../db/store.ts'
import { ownedThread, putTurn, turnOf } from '../db/threads.ts'
import { ServiceError } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import { finish } from '../time-slices.ts'
import { append, appendLeft, contentText, refuseFull, tryAppend, type Unplaced, unplaced } from './appending.ts'
import { NOT_OPEN, type Outcome } from './calls.ts'
import { refuseParts } from './content.ts'
import { type ChatFrame, type Listener, messageFrame } from './frames.ts'
import type { Listeners } from './listeners.ts'
import { chosenOf, type ModelChoice, refuseTwo } from './model-choice.ts'
import { type Redacting, redacted } from './redacting.ts'
import { Saying, Sayings } from './sayings.ts'
import type { ToolBox } from './tool-box.ts'
import { type ChosenTool, toolSteps } from './tools.ts'
import { Turn, type TurnParts } from './turn.ts'
import { UnfinishedTurns } from './unfinished-turns.ts'

export interface TurnsParts extends TurnParts {
  readonly tool_box: ToolBox
  readonly lanes: KeyedQueue
  readonly listeners: Listeners
  readonly redacting: Redacting
}

export interface SaidByUser extends ModelChoice {
  readonly content: NonNullable<MessageContent>
  readonly tools?: readonly ChosenTool[] | null | undefined
  /** The pointer of all this in the request. */
  readonly at: string
}

interface Running {
  readonly turn: Turn
  readonly ended: Promise<void>
}

interface Begun {
  readonly thread: ThreadTable
  readonly stored: readonly MessageTable[]
}

export class Turns {
  readonly #parts: TurnsParts
  readonly #running = new Map<string, Running>()
  readonly #sayings = new Sayings()
  /** By thread: whose turn is about to begin. */
  readonly #starting = new Map<string, string>()
  readonly #unfinished: UnfinishedTurns
  #closed = false

  constructor(parts: TurnsParts) {
    this.#parts = parts
    this.#unfinished = new UnfinishedTurns(parts)
  }

  /** In how many threads one is under way, or about to begin. */
  get size(): number {
    return this.#sayings.size
  }

  isRunning(thread_id: string): boolean {
    return this.#running.has(thread_id)
  }

  /** The turn that is under way in a thread, for those who may see that. */
  of(thread_id: string): Turn | null {
    return this.#running.get(thread_id)?.turn ?? null
  }

  /**
   * Stores what the user says and has it answered, when the turn before has ended. A message that is refused touches no turn. `begins` is called right
   * before anything is told of it. `begun` rejects with NOT_FOUND, INVALID_REQUEST, REQUEST_TOO_LARGE, CONFLICT, RATE_LIMITED, SERVICE_UNAVAILABLE.
   */
  say(owner: Scope, thread_id: string, said: SaidByUser, begins: () => void): Saying {
    const { lanes } = this.#parts
    const saying = new Saying(async (self) => {
      // Whoever may not see the thread neither waits in its line nor keeps others waiting.
      this.#owned(owner, thread_id)
      return lanes.run(thread_id, () =>
        this.#say(owner, thread_id, said, (turn) => {
          self.answeredBy(turn)
          begins()
        }),
      )
    })
    this.#sayings.add(owner, thread_id, saying)
    return saying
  }

  async #say(owner: Scope, thread_id: string, said: SaidByUser, begins: (turn: Turn) => void): Promise<Running> {
    const { redacting, platform, tool_box, store, slices, limits } = this.#parts
    const known = this.#owned(owner, thread_id)
    refuseParts(said.content, `${said.at}/content`)
    refuseTwo(said, said.at)
    const redactor = redacting.of(owner)
    const steps = toolSteps({ box: tool_box, owner, redactor }, said.tools ?? [], `${said.at}/tools`)
    const tools = said.tools?.length ? await slices.run(userKey(owner), steps) : finish(steps)
    const id = platform.id('turn')
    const content = await redacted(this.#parts, owner, said.content)
    const text = await contentText(slices, owner, content)
    const message = unplaced(known.key, { role: 'user', content, turn_id: id }, platform, text)
    if (this.#closed) throw new ServiceError('SERVICE_UNAVAILABLE')
    this.#refuseMany(owner, thread_id)
    store.read((tx) => refuseFull(tx, message, limits))
    // It has its place from here on: what is asked for in other threads meanwhile is counted with it.
    this.#starting.set(thread_id, userKey(owner))
    try {
      if (this.isRunning(thread_id)) {
        // The text of the turn comes before the message: it has to end first, and must not where the message cannot be stored.
        await store.write((tx) => tryAppend(tx, message))
        await this.interrupt(thread_id)
      }
      return await this.#begin(owner, thread_id, message, said, (begun) => {
        const tell = (frame: ChatFrame) => this.#parts.listeners.tell(thread_id, frame)
        const { provider, model, workflow_id } = said
        const choice = { provider, model, workflow_id }
        const turn = new Turn(this.#parts, { id, owner, thread: begun.thread, choice, tools, redactor, tell })
        begins(turn)
        return this.#run(thread_id, turn, begun.stored)
      })
    } finally {
      this.#starting.delete(thread_id)
    }
  }

  #begin(
    owner: Scope,
    thread_id: string,
    message: Unplaced,
    choice: ModelChoice,
    begun: (begun: Begun) => Running,
  ): Promise<Running> {
    const { store, platform, choices } = this.#parts
    // The turn before may just have ended.
    const created_at = platform.timestamp()
    const left = { id: platform.id('message'), at: created_at }
    const chosen = chosenOf(choice, choices.providers)
    const unit = (tx: Tx): Begun => {
      const { key: thread_key } = owned(tx, owner, thread_id)
      // The end of an earlier one may not have been stored.
      const earlier = turnOf(tx, thread_key)
      const stored = earlier ? [appendLeft(tx, earlier, left)] : []
      stored.push(append(tx, { ...message, created_at }))
      const of = { thread_key, id: message.turn_id!, workflow_id: choice.workflow_id ?? null, job_id: null }
      putTurn(tx, { ...of, ...chosen, created_at })
      return { thread: owned(tx, owner, thread_id), stored }
    }
    return new Promise((resolve, reject) => {
      store.writeThen(unit, (error, value) => {
        if (value) resolve(begun(value))
        else reject(error)
      })
    })
  }

  #run(thread_id: string, turn: Turn, stored: readonly MessageTable[]): Running {
    const { listeners } = this.#parts
    listeners.tell(thread_id, turn.begun())
    for (const row of stored) listeners.tell(thread_id, messageFrame(thread_id, row))
    const running = { turn, ended: Promise.resolve() }
    this.#running.set(thread_id, running)
    running.ended = turn.run((ends) => {
      this.#running.delete(thread_id)
      listeners.tell(thread_id, ends)
    })
    return running
  }

  /** How many turns there were to stop in the caller's thread, those that wait for their beginning as well. They end soon. @throws NOT_FOUND */
  stop(owner: Scope, thread_id: string): number {
    this.#owned(owner, thread_id)
    return this.#sayings.stop(owner, thread_id)
  }

  /** Ends the turn of a thread, if there is one, and waits until that is stored. */
  async interrupt(thread_id: string): Promise<void> {
    const running = this.#running.get(thread_id)
    running?.turn.interrupt()
    await running?.ended
  }

  /** Gives a call what a tool of the client gave; settles when that is stored. @throws NOT_FOUND where the call waits for nothing */
  async result(owner: Scope, thread_id: string, tool_call_id: string, outcome: Outcome): Promise<void> {
    this.#owned(owner, thread_id)
    const answered = this.of(thread_id)?.answer(tool_call_id, outcome) ?? null
    if (answered === null) throw new ServiceError('NOT_FOUND', { message: NOT_OPEN })
    await answered
  }

  /** Tells of a thread what happens from now on, until the returned function is called. The caller knows that it may. */
  follow(thread_id: string, listener: Listener): () => void {
    return this.#parts.listeners.add(thread_id, listener)
  }

  /** Stores, as interrupted, what an earlier process left unfinished, as far as it can be stored now. Gives how many it stored. */
  restore(): Promise<number> {
    return this.#unfinished.restore()
  }

  /** Takes no more; those that there are go on. */
  close(): void {
    this.#closed = true
    this.#unfinished.close()
  }

  /** Takes no more, ends all that there are, and waits until they are stored. */
  async end(): Promise<void> {
    this.close()
    await this.#sayings.end()
  }

  #owned(owner: Scope, thread_id: string): ThreadTable {
    return this.#parts.store.read((tx) => owned(tx, owner, thread_id))
  }

  #refuseMany(owner: Scope, thread_id: string): void {
    const key = userKey(owner)
    const running = [...this.#running].filter(([, { turn }]) => userKey(turn.owner) === key).map(([id]) => id)
    const starting = [...this.#starting].filter(([, of]) => of === key).map(([id]) => id)
    const most = this.#parts.limits.turns
    if (new Set([...running, ...starting].filter((id) => id !== thread_id)).size < most) return
    const message = `You have ${most} turns under way, as many as there may be: let some end, or stop them.`
    throw new ServiceError('RATE_LIMITED', { message })
  }
}

function owned(tx: Tx, owner: Scope, thread_id: string): ThreadTable {
  const thread = ownedThread(tx, owner, thread_id)
  if (!thread) throw new ServiceError('NOT_FOUND', { message: NO_THREAD })
  return thread
}

export const NO_THREAD = 'The thread does not exist.'
