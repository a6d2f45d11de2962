// The assets of one data folder.
import { join } from 'node:path'
import type { Store } from '../db/store.ts'
import type { Platform } from '../platform.ts'
import { Assets } from './assets.ts'
import { LocalStore } from './local-store.ts'
import { Signatures } from './signatures.ts'

/**
 * Opens the store of objects in `data_dir`. `secret` signs download addresses: those of another secret are void.
 * @throws StartError when the folder cannot be used
 */
export function openAssets(data_dir: string, store: Store, platform: Platform, secret: Uint8Array): Assets {
  const objects = new LocalStore(join(data_dir, 'storage'), platform.now)
  return new Assets({ store, objects, platform, signatures: new Signatures(secret) })
}
