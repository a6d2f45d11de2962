// How a well-formed command of chat is refused to a client that correlates by the thread alone: as a turn of its own that failed. A frame that names
// nothing would end whatever such a client has under way.
import type { SocketError } from '../../generated/types.ts'
import { errorBodies, ServiceError } from '../errors.ts'
import type { CommandConnection } from './commands/command-connection.ts'

/** The turn is told to nobody else, and no other one is touched. */
export function refuseChatTurn(connection: CommandConnection, thread_id: string, error: ServiceError): void {
  const turn_id = connection.app.platform.id('turn')
  const of = { thread_id, turn_id, last_sequence: readLastSequence(connection, thread_id), job_id: null }
  connection.send({ type: 'turn_update', ...of, status: 'failed', error: errorBodies.socket(error) as SocketError })
}

function readLastSequence({ app, principal }: CommandConnection, thread_id: string): number {
  try {
    return app.chat.threads.row(principal, thread_id).last_sequence
  } catch (thrown) {
    if (thrown instanceof ServiceError) return 0
    throw thrown
  }
}
