// Runs turns: at most one in a thread. A new message interrupts the turn before. Followers of a thread receive all its
// turns.
import type { MessageContent } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { Tx } from '../../db/store.ts'
import type { MessageTable, ThreadTable } from '../../db/tables/chat.ts'
import { findOwnedThread, findTurn, startTurn } from '../../db/threads.ts'
import { ServiceError } from '../../errors.ts'
import type { KeyedQueue } from '../../shared/keyed-queue.ts'
import { runToCompletion } from '../../shared/time-slices.ts'
import { validateContent } from '../content-validation.ts'
import { type ChatFrame, createMessageFrame, type FrameListener } from '../frames.ts'
import {
  appendInterrupted,
  appendMessage,
  createUnsequencedMessage,
  encodeContent,
  refuseFullThread,
  tryAppendMessage,
  type UnsequencedMessage,
} from '../message-storage.ts'
import { type ModelChoice, parseModelChoice, refuseModelAndWorkflow } from '../model-choice.ts'
import { type OwnerRedactors, redactForOwner } from '../owner-redaction.ts'
import type { ThreadListeners } from '../threads/listeners.ts'
import { CALL_NOT_OPEN, type ToolOutcome } from '../tools/call-executor.ts'
import type { ServerToolResolver } from '../tools/server-tools.ts'
import { type ChosenTool, resolveTurnToolsSteps } from '../tools/turn-tools.ts'
import { PendingMessage, PendingMessages } from './pending-messages.ts'
import { Turn } from './turn.ts'
import type { TurnParts } from './turn-context.ts'
import { UnfinishedTurns } from './unfinished-turns.ts'

export interface TurnServiceParts extends TurnParts {
  readonly tool_box: ServerToolResolver
  readonly lanes: KeyedQueue
  readonly listeners: ThreadListeners
  readonly redacting: OwnerRedactors
}

export interface UserMessageRequest extends ModelChoice {
  readonly content: NonNullable<MessageContent>
  readonly tools?: readonly ChosenTool[] | null | undefined
  /** The JSON pointer of this object in the request. */
  readonly at: string
}

interface RunningTurn {
  readonly turn: Turn
  readonly ended: Promise<void>
}

interface StartedTurn {
  readonly thread: ThreadTable
  readonly stored: readonly MessageTable[]
}

export class TurnService {
  readonly #parts: TurnServiceParts
  readonly #running = new Map<string, RunningTurn>()
  readonly #pending_messages = new PendingMessages()
  /** The user keys of turns that are about to start, by thread. */
  readonly #starting = new Map<string, string>()
  readonly #unfinished: UnfinishedTurns
  #closed = false

  constructor(parts: TurnServiceParts) {
    this.#parts = parts
    this.#unfinished = new UnfinishedTurns(parts)
  }

  /** The number of threads with a running or starting turn. */
  get size(): number {
    return this.#pending_messages.size
  }

  isRunning(thread_id: string): boolean {
    return this.#running.has(thread_id)
  }

  /** The running turn of a thread. The caller has checked the permission. */
  findRunning(thread_id: string): Turn | null {
    return this.#running.get(thread_id)?.turn ?? null
  }

  /**
   * Stores the user's message, and starts its turn when the turn before has ended. A refused message does not end the
   * turn before. `begins` is called before the first frame. `begun` rejects with NOT_FOUND, INVALID_REQUEST,
   * REQUEST_TOO_LARGE, CONFLICT, RATE_LIMITED, SERVICE_UNAVAILABLE.
   */
  submitMessage(owner: OwnerScope, thread_id: string, said: UserMessageRequest, begins: () => void): PendingMessage {
    const { lanes } = this.#parts
    const pending = new PendingMessage(async (self) => {
      // Checked before the queue: a caller without access neither waits in the thread's queue nor delays others.
      this.#requireOwnedThread(owner, thread_id)
      return lanes.run(thread_id, () =>
        this.#submitMessage(owner, thread_id, said, (turn) => {
          self.attachTurn(turn)
          begins()
        }),
      )
    })
    this.#pending_messages.add(owner, thread_id, pending)
    return pending
  }

  async #submitMessage(
    owner: OwnerScope,
    thread_id: string,
    said: UserMessageRequest,
    begins: (turn: Turn) => void,
  ): Promise<RunningTurn> {
    const { redacting, platform, tool_box, store, slices, limits } = this.#parts
    const known = this.#requireOwnedThread(owner, thread_id)
    validateContent(said.content, `${said.at}/content`)
    refuseModelAndWorkflow(said, said.at)
    const redactor = redacting.of(owner)
    const steps = resolveTurnToolsSteps({ box: tool_box, owner, redactor }, said.tools ?? [], `${said.at}/tools`)
    const tools = said.tools?.length ? await slices.run(userShareKey(owner), steps) : runToCompletion(steps)
    const id = platform.id('turn')
    const content = await redactForOwner(this.#parts, owner, said.content)
    const text = await encodeContent(slices, owner, content)
    const message = createUnsequencedMessage(known.key, { role: 'user', content, turn_id: id }, platform, text)
    if (this.#closed) throw new ServiceError('SERVICE_UNAVAILABLE')
    this.#refuseTooMany(owner, thread_id)
    store.read((tx) => refuseFullThread(tx, message, limits))
    // The turn counts from here on, also for messages that other threads receive meanwhile.
    this.#starting.set(thread_id, userShareKey(owner))
    try {
      if (this.isRunning(thread_id)) {
        // The text of the running turn comes before the message, so the turn must end first. It must not end if the
        // message cannot be stored.
        await store.write((tx) => tryAppendMessage(tx, message))
        await this.interrupt(thread_id)
      }
      return await this.#storeAndStart(owner, thread_id, message, said, (started) => {
        const tell = (frame: ChatFrame) => this.#parts.listeners.notify(thread_id, frame)
        const { provider, model, workflow_id } = said
        const choice = { provider, model, workflow_id }
        const turn = new Turn(this.#parts, { id, owner, thread: started.thread, choice, tools, redactor, tell })
        begins(turn)
        return this.#run(thread_id, turn, started.stored)
      })
    } finally {
      this.#starting.delete(thread_id)
    }
  }

  #storeAndStart(
    owner: OwnerScope,
    thread_id: string,
    message: UnsequencedMessage,
    choice: ModelChoice,
    start: (started: StartedTurn) => RunningTurn,
  ): Promise<RunningTurn> {
    const { store, platform, choices } = this.#parts
    // Taken here, since the turn before may just have ended.
    const created_at = platform.timestamp()
    const interrupted = { id: platform.id('message'), at: created_at }
    const chosen = parseModelChoice(choice, choices.providers)
    const unit = (tx: Tx): StartedTurn => {
      const { key: thread_key } = requireOwnedThread(tx, owner, thread_id)
      // The end of an earlier turn may not have been stored.
      const earlier = findTurn(tx, thread_key)
      const stored = earlier ? [appendInterrupted(tx, earlier, interrupted)] : []
      stored.push(appendMessage(tx, { ...message, created_at }))
      const of = { thread_key, id: message.turn_id!, workflow_id: choice.workflow_id ?? null, job_id: null }
      startTurn(tx, { ...of, ...chosen, created_at })
      return { thread: requireOwnedThread(tx, owner, thread_id), stored }
    }
    return new Promise((resolve, reject) => {
      store.writeThen(unit, (error, value) => {
        if (value) resolve(start(value))
        else reject(error)
      })
    })
  }

  #run(thread_id: string, turn: Turn, stored: readonly MessageTable[]): RunningTurn {
    const { listeners } = this.#parts
    listeners.notify(thread_id, turn.createRunningUpdate())
    for (const row of stored) listeners.notify(thread_id, createMessageFrame(thread_id, row))
    const running = { turn, ended: Promise.resolve() }
    this.#running.set(thread_id, running)
    running.ended = turn.run((ends) => {
      this.#running.delete(thread_id)
      listeners.notify(thread_id, ends)
    })
    return running
  }

  /**
   * Stops the turns of the caller's thread, also those that wait for their start, and returns their number. They end
   * soon.
   * @throws NOT_FOUND
   */
  stop(owner: OwnerScope, thread_id: string): number {
    this.#requireOwnedThread(owner, thread_id)
    return this.#pending_messages.stop(owner, thread_id)
  }

  /** Ends the running turn of a thread, if there is one, and waits until its end is stored. */
  async interrupt(thread_id: string): Promise<void> {
    const running = this.#running.get(thread_id)
    running?.turn.interrupt()
    await running?.ended
  }

  /**
   * Passes the result of a client tool to its call; settles when the result is stored.
   * @throws NOT_FOUND if the call does not wait for a result
   */
  async submitToolResult(
    owner: OwnerScope,
    thread_id: string,
    tool_call_id: string,
    outcome: ToolOutcome,
  ): Promise<void> {
    this.#requireOwnedThread(owner, thread_id)
    const answered = this.findRunning(thread_id)?.settleToolCall(tool_call_id, outcome) ?? null
    if (answered === null) throw new ServiceError('NOT_FOUND', { message: CALL_NOT_OPEN })
    await answered
  }

  /**
   * Sends the frames of a thread to `listener` until the returned function is called. The caller has checked the
   * permission.
   */
  follow(thread_id: string, listener: FrameListener): () => void {
    return this.#parts.listeners.add(thread_id, listener)
  }

  /**
   * Stores turns that an earlier process left unfinished as interrupted, as far as that is possible now. Returns how
   * many it stored.
   */
  restore(): Promise<number> {
    return this.#unfinished.restore()
  }

  /** Accepts no new turns; running turns go on. */
  close(): void {
    this.#closed = true
    this.#unfinished.close()
  }

  /** Accepts no new turns, ends all running turns, and waits until they are stored. */
  async end(): Promise<void> {
    this.close()
    await this.#pending_messages.end()
  }

  #requireOwnedThread(owner: OwnerScope, thread_id: string): ThreadTable {
    return this.#parts.store.read((tx) => requireOwnedThread(tx, owner, thread_id))
  }

  #refuseTooMany(owner: OwnerScope, thread_id: string): void {
    const key = userShareKey(owner)
    const running = [...this.#running].filter(([, { turn }]) => userShareKey(turn.owner) === key).map(([id]) => id)
    const starting = [...this.#starting].filter(([, of]) => of === key).map(([id]) => id)
    const most = this.#parts.limits.turns
    if (new Set([...running, ...starting].filter((id) => id !== thread_id)).size < most) return
    const message = `You have ${most} running turns, which is the limit. Wait until some end, or stop them.`
    throw new ServiceError('RATE_LIMITED', { message })
  }
}

function requireOwnedThread(tx: Tx, owner: OwnerScope, thread_id: string): ThreadTable {
  const thread = findOwnedThread(tx, owner, thread_id)
  if (!thread) throw new ServiceError('NOT_FOUND', { message: THREAD_NOT_FOUND })
  return thread
}

export const THREAD_NOT_FOUND = 'The thread does not exist.'
