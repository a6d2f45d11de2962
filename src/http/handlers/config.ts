// Operations of the tag `config`.
import type { ConfigHandlers } from '../../../generated/operations.ts'
import { version } from '../../version.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

export const configHandlers: ConfigHandlers<RequestContext> = {
  getConfig(_request, { app }) {
    const { identity_provider, sdk_lifecycle, sdk_lifecycle_preview, max_body_bytes, max_upload_bytes } = app.config
    const { ws_max_message_bytes } = app.config
    return {
      status: 200,
      body: {
        version,
        auth_mode: identity_provider ? 'identity_provider' : 'local',
        // The key of the provider stays on the server.
        identity_provider: identity_provider && { url: identity_provider.url },
        features: {
          sdk_lifecycle,
          sdk_lifecycle_preview: sdk_lifecycle && sdk_lifecycle_preview,
          mcp: false,
          integrations: false,
          apps: false,
          web_ui: false,
        },
        limits: { max_body_bytes, max_upload_bytes, ws_max_message_bytes },
      },
    }
  },
}
