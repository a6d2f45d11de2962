// Refuses a well-formed chat command for a client that correlates by thread only: as a failed turn of its own. A frame without a thread would end all
// that such a client has running.
import type { SocketError } from '../../generated/types.ts'
import { errorBodies, ServiceError } from '../errors.ts'
import type { CommandConnection } from './commands/command-connection.ts'

/** Only this socket gets the turn, and no other turn is affected. */
export function refuseChatTurn(connection: CommandConnection, thread_id: string, error: ServiceError): void {
  const turn_id = connection.app.platform.id('turn')
  const fields = { thread_id, turn_id, last_sequence: readLastSequence(connection, thread_id), job_id: null }
  connection.send({ type: 'turn_update', ...fields, status: 'failed', error: errorBodies.socket(error) as SocketError })
}

function readLastSequence({ app, principal }: CommandConnection, thread_id: string): number {
  try {
    return app.chat.threads.row(principal, thread_id).last_sequence
  } catch (thrown) {
    if (thrown instanceof ServiceError) return 0
    throw thrown
  }
}
