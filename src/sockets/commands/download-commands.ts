// The commands of `/ws/download`. The type comes from the contract: a missing, extra or mistyped handler does not compile.
import type { DownloadCommandHandlers } from '../../../generated/messages.ts'
import type { Principal } from '../../access/principal.ts'
import { ServiceError } from '../../errors.ts'
import { echoRequestId } from '../jobs/command-replies.ts'
import type { CommandConnection } from './command-connection.ts'

/** The setting with the hub's token, under the name that the hub's own tools use. */
const HUB_TOKEN_SETTING = 'HF_TOKEN'

export const downloadCommandHandlers: DownloadCommandHandlers<CommandConnection> = {
  start_download({ data, request_id }, connection) {
    const { app, principal } = connection
    requireAdministrator(principal)
    const { repo_id, model_type, path = null, allow_patterns: allow = null, ignore_patterns } = data
    const request = { repo_id, model_type, path, allow, ignore: ignore_patterns ?? [] }
    const update = app.models.downloads.start(
      principal,
      request,
      app.models.billingOf(principal).key(HUB_TOKEN_SETTING),
      connection,
    )
    connection.send({ ...update, ...echoRequestId(request_id) })
  },

  cancel_download({ data, request_id }, connection) {
    const { app, principal } = connection
    requireAdministrator(principal)
    const update = app.models.downloads.cancel(principal, data.repo_id, data.path ?? null, connection)
    connection.send({ ...update, ...echoRequestId(request_id) })
  },
}

/** Downloads fill the disk of the operator. In Local mode that is the local user. */
function requireAdministrator({ administrator }: Principal): void {
  if (administrator) return
  throw new ServiceError('FORBIDDEN', { message: 'Only administrators may download models to this server.' })
}

/** Sends a socket the updates of its caller's downloads as long as it is open. A peer that does not read gets no progress. */
export function followDownloads(connection: CommandConnection): void {
  const { app, principal, closed } = connection
  const leave = app.models.downloads.follow(principal, connection, (update) => {
    if (update.status !== 'progress' || !connection.congested) connection.send(update)
  })
  closed.addEventListener('abort', leave, { once: true })
}
