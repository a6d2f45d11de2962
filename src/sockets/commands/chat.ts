// The chat commands of `/ws`: send a message, follow a thread, answer a tool call, stop. Turns outlive the socket.
import type { WsCommandHandlers } from '../../../generated/messages.ts'
import type { ResumeChatData } from '../../../generated/types.ts'
import { echoRequestId } from '../jobs/command-replies.ts'
import type { CommandConnection } from './command-connection.ts'

type ChatCommands = Pick<WsCommandHandlers<CommandConnection>, 'chat_message' | 'resume_chat' | 'tool_result' | 'stop'>

export const chatCommandHandlers: ChatCommands = {
  async chat_message({ data }, connection) {
    const { app, principal, chats, inferences } = connection
    const { thread_id, content, provider, model, tools, workflow_id } = data
    chats.requireCapacity(thread_id)
    const input = { content, provider, model, tools, workflow_id, at: '/data' }
    const pending = app.chat.turns.submitMessage(principal, thread_id, input, () => chats.follow(thread_id))
    inferences.addMessage(pending)
    await pending.begun
  },

  resume_chat({ data }, connection) {
    resumeChat(connection, data)
  },

  async tool_result({ data, request_id }, connection) {
    const { thread_id, tool_call_id, result = null, error = null } = data
    await connection.app.chat.turns.submitToolResult(connection.principal, thread_id, tool_call_id, { result, error })
    connection.send({ message: 'The result is taken.', thread_id, tool_call_id, ...echoRequestId(request_id) })
  },

  stop({ data, request_id }, connection) {
    const { app, principal, inferences } = connection
    const thread_id = data?.thread_id ?? null
    const stopped = thread_id === null ? inferences.stop() : app.chat.turns.stop(principal, thread_id)
    const message = stopped === 0 ? 'Nothing was running.' : 'Running turns and inferences are being stopped.'
    connection.send({ message, stopped, ...echoRequestId(request_id) })
  },
}

/** Nothing is awaited between the read and the follow, so that both see the same state of the thread. */
function resumeChat(connection: CommandConnection, { thread_id, after_sequence }: ResumeChatData): void {
  const { app, principal, chats } = connection
  const { last_sequence } = app.chat.threads.row(principal, thread_id)
  chats.requireCapacity(thread_id)
  const turn = app.chat.turns.findRunning(thread_id)
  connection.send({ type: 'chat_resumed', thread_id, last_sequence, turn_id: turn?.id ?? null })
  const so_far = turn?.createCatchUpFrames() ?? []
  chats.follow(thread_id, { owner: principal, after: after_sequence ?? 0, until: last_sequence, so_far })
}
