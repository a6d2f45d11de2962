// Operations of the tag `assets`: files and folders in the database. asset-packages.ts has the bundled packages.
import type { AssetsHandlers, OperationReply } from '../../../generated/operations.ts'
import { linkCredentialOf } from '../../access/principal.ts'
import { createFileReply } from '../body/file-reply.ts'
import { openFormUpload } from '../body/multipart/uploads.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { translateStorageError } from '../pipeline/storage-errors.ts'
import { validateAssetFields } from './asset-form.ts'
import { assetPackageHandlers } from './asset-packages.ts'

export const assetsHandlers: AssetsHandlers<RequestContext> = {
  ...assetPackageHandlers,

  async listAssets({ query }, { app, principal }) {
    return { status: 200, body: await app.assets.service.list(principal, query) }
  },

  async createAsset(_request, context) {
    const { app, principal, incoming } = context
    using form = await openFormUpload(incoming, {
      largest: app.config.max_upload_bytes,
      pace: app.transport.stall_detector,
      confirm: () => context.confirmCredential(),
    })
    const asset = await app.assets.service
      .create(principal, validateAssetFields(form.fields), form.file)
      .catch((error) => {
        throw translateStorageError(error)
      })
    return { status: 201, body: asset, headers: { Location: `/api/assets/${asset.id}` } }
  },

  getAsset({ path, query: { expires_in } }, { app, principal }) {
    const link = expires_in ? { expires_in, credential: linkCredentialOf(principal, app.platform.now()) } : null
    return { status: 200, body: app.assets.service.get(principal, path.id, link) }
  },

  async updateAsset({ path, body }, { app, principal }) {
    return { status: 200, body: await app.assets.service.update(principal, path.id, body) }
  },

  async deleteAsset({ path }, { app, principal }) {
    await app.assets.service.delete(principal, path.id)
    return { status: 204 }
  },

  async downloadAsset({ path, headers }, { app, principal }) {
    const file = await app.assets.service.file(principal, path.id)
    return (await createFileReply(headers, file, { as_attachment: true })) as OperationReply<'downloadAsset'>
  },
}
