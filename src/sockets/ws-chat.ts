// The commands of `/ws` that chat: say something, follow a thread, answer a call of a tool, stop. Turns live without the socket.
import type { WsCommandHandlers } from '../../generated/messages.ts'
import type { ResumeChatData } from '../../generated/types.ts'
import { echo } from './answers.ts'
import type { Peer } from './peer.ts'

type ChatCommands = Pick<WsCommandHandlers<Peer>, 'chat_message' | 'resume_chat' | 'tool_result' | 'stop'>

export const chatCommands: ChatCommands = {
  async chat_message({ data }, connection) {
    const { app, principal, chats, asking } = connection
    const { thread_id, content, provider, model, tools, workflow_id } = data
    chats.requirePlace(thread_id)
    const said = { content, provider, model, tools, workflow_id, at: '/data' }
    const saying = app.chat.turns.say(principal, thread_id, said, () => chats.follow(thread_id))
    asking.said(saying)
    await saying.begun
  },

  resume_chat({ data }, connection) {
    resume(connection, data)
  },

  async tool_result({ data, request_id }, connection) {
    const { thread_id, tool_call_id, result = null, error = null } = data
    await connection.app.chat.turns.result(connection.principal, thread_id, tool_call_id, { result, error })
    connection.send({ message: 'The result is taken.', thread_id, tool_call_id, ...echo(request_id) })
  },

  stop({ data, request_id }, connection) {
    const { app, principal, asking } = connection
    const thread_id = data?.thread_id ?? null
    const stopped = thread_id === null ? asking.stop() : app.chat.turns.stop(principal, thread_id)
    const message = stopped === 0 ? 'Nothing was running.' : 'What was running is told to stop.'
    connection.send({ message, stopped, ...echo(request_id) })
  },
}

/** Nothing waits from what is read to what is followed: it is one state of the thread. */
function resume(connection: Peer, { thread_id, after_sequence }: ResumeChatData): void {
  const { app, principal, chats } = connection
  const { last_sequence } = app.chat.threads.row(principal, thread_id)
  chats.requirePlace(thread_id)
  const turn = app.chat.turns.of(thread_id)
  connection.send({ type: 'chat_resumed', thread_id, last_sequence, turn_id: turn?.id ?? null })
  const so_far = turn?.soFar() ?? []
  chats.follow(thread_id, { owner: principal, after: after_sequence ?? 0, until: last_sequence, so_far })
}
