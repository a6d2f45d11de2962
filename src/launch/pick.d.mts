// The types of pick.mjs for imports from TypeScript.

export interface Host {
  version: string
  execPath: string
  platform: string
  arch: string
}

export const MINIMUM: readonly number[]
export const COMPILE_CACHE: string
export function isNewEnough(version: string): boolean
export function missingPackages(manifest: URL): string | null
export function pickNode(host: Host): { path: string; own: boolean } | { missing: string }
