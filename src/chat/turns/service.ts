// The turns that are under way: one in a thread at most. A new message supersedes the one before; whoever follows a thread hears of all of them.
import type { MessageContent } from '../../../generated/types.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { MessageTable, ThreadTable } from '../../db/schema.ts'
import type { Tx } from '../../db/store.ts'
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
import { Turn, type TurnParts } from './turn.ts'
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
  /** The pointer of all this in the request. */
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
  /** By thread: whose turn is about to begin. */
  readonly #starting = new Map<string, string>()
  readonly #unfinished: UnfinishedTurns
  #closed = false

  constructor(parts: TurnServiceParts) {
    this.#parts = parts
    this.#unfinished = new UnfinishedTurns(parts)
  }

  /** In how many threads one is under way, or about to begin. */
  get size(): number {
    return this.#pending_messages.size
  }

  isRunning(thread_id: string): boolean {
    return this.#running.has(thread_id)
  }

  /** The turn that is under way in a thread, for those who may see that. */
  findRunning(thread_id: string): Turn | null {
    return this.#running.get(thread_id)?.turn ?? null
  }

  /**
   * Stores what the user says and has it answered, when the turn before has ended. A message that is refused touches no turn. `begins` is called right
   * before anything is told of it. `begun` rejects with NOT_FOUND, INVALID_REQUEST, REQUEST_TOO_LARGE, CONFLICT, RATE_LIMITED, SERVICE_UNAVAILABLE.
   */
  submitMessage(owner: OwnerScope, thread_id: string, said: UserMessageRequest, begins: () => void): PendingMessage {
    const { lanes } = this.#parts
    const saying = new PendingMessage(async (self) => {
      // Whoever may not see the thread neither waits in its line nor keeps others waiting.
      this.#requireOwnedThread(owner, thread_id)
      return lanes.run(thread_id, () =>
        this.#submitMessage(owner, thread_id, said, (turn) => {
          self.attachTurn(turn)
          begins()
        }),
      )
    })
    this.#pending_messages.add(owner, thread_id, saying)
    return saying
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
    // It has its place from here on: what is asked for in other threads meanwhile is counted with it.
    this.#starting.set(thread_id, userShareKey(owner))
    try {
      if (this.isRunning(thread_id)) {
        // The text of the turn comes before the message: it has to end first, and must not where the message cannot be stored.
        await store.write((tx) => tryAppendMessage(tx, message))
        await this.interrupt(thread_id)
      }
      return await this.#storeAndStart(owner, thread_id, message, said, (begun) => {
        const tell = (frame: ChatFrame) => this.#parts.listeners.notify(thread_id, frame)
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

  #storeAndStart(
    owner: OwnerScope,
    thread_id: string,
    message: UnsequencedMessage,
    choice: ModelChoice,
    begun: (begun: StartedTurn) => RunningTurn,
  ): Promise<RunningTurn> {
    const { store, platform, choices } = this.#parts
    // The turn before may just have ended.
    const created_at = platform.timestamp()
    const left = { id: platform.id('message'), at: created_at }
    const chosen = parseModelChoice(choice, choices.providers)
    const unit = (tx: Tx): StartedTurn => {
      const { key: thread_key } = requireOwnedThread(tx, owner, thread_id)
      // The end of an earlier one may not have been stored.
      const earlier = findTurn(tx, thread_key)
      const stored = earlier ? [appendInterrupted(tx, earlier, left)] : []
      stored.push(appendMessage(tx, { ...message, created_at }))
      const of = { thread_key, id: message.turn_id!, workflow_id: choice.workflow_id ?? null, job_id: null }
      startTurn(tx, { ...of, ...chosen, created_at })
      return { thread: requireOwnedThread(tx, owner, thread_id), stored }
    }
    return new Promise((resolve, reject) => {
      store.writeThen(unit, (error, value) => {
        if (value) resolve(begun(value))
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

  /** How many turns there were to stop in the caller's thread, those that wait for their beginning as well. They end soon. @throws NOT_FOUND */
  stop(owner: OwnerScope, thread_id: string): number {
    this.#requireOwnedThread(owner, thread_id)
    return this.#pending_messages.stop(owner, thread_id)
  }

  /** Ends the turn of a thread, if there is one, and waits until that is stored. */
  async interrupt(thread_id: string): Promise<void> {
    const running = this.#running.get(thread_id)
    running?.turn.interrupt()
    await running?.ended
  }

  /** Gives a call what a tool of the client gave; settles when that is stored. @throws NOT_FOUND where the call waits for nothing */
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

  /** Tells of a thread what happens from now on, until the returned function is called. The caller knows that it may. */
  follow(thread_id: string, listener: FrameListener): () => void {
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
    const message = `You have ${most} turns under way, as many as there may be: let some end, or stop them.`
    throw new ServiceError('RATE_LIMITED', { message })
  }
}

function requireOwnedThread(tx: Tx, owner: OwnerScope, thread_id: string): ThreadTable {
  const thread = findOwnedThread(tx, owner, thread_id)
  if (!thread) throw new ServiceError('NOT_FOUND', { message: THREAD_NOT_FOUND })
  return thread
}

export const THREAD_NOT_FOUND = 'The thread does not exist.'
