// Operations of the tag `settings`: settings and secrets of a user.
import type { SettingsHandlers } from '../../../generated/operations.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

export const settingsHandlers: SettingsHandlers<RequestContext> = {
  getSettings(_request, { app, principal }) {
    return { status: 200, body: { settings: app.users.settings.list(principal) } }
  },

  async updateSettings({ body }, { app, principal, request_id }) {
    const settings = await app.users.settings.update(principal, body.values, '/body/values')
    app.access.audit.recordAction('settings_changed', principal, { settings: Object.keys(body.values), request_id })
    return { status: 200, body: { settings } }
  },

  async listSecrets(_request, { app, principal }) {
    return { status: 200, body: await app.users.secrets.list(principal) }
  },

  async getSecret({ path }, { app, principal }) {
    return { status: 200, body: await app.users.secrets.get(principal, path.name) }
  },

  async putSecret({ path, body }, { app, principal, request_id }) {
    const secret = await app.users.secrets.put(principal, path.name, body.value)
    app.access.audit.recordAction('secret_set', principal, { name: path.name, request_id })
    return { status: 200, body: secret }
  },

  async deleteSecret({ path }, { app, principal, request_id }) {
    const deleted = await app.users.secrets.delete(principal, path.name)
    if (deleted) app.access.audit.recordAction('secret_deleted', principal, { name: path.name, request_id })
    return { status: 204 }
  },
}
