// UrgentPreviewQueue holds the assets whose previews requests wait for. Users take turns, and the assets of one user come in order.

/** An asset and its owner. */
export interface AssetOfUser {
  readonly id: string
  readonly user_id: string
}

export class UrgentPreviewQueue {
  /** By user, the user with the next turn first; then by asset id, in order. No user has an empty map. */
  readonly #users = new Map<string, Map<string, PromiseWithResolvers<void>>>()

  /** Adds an asset. Resolves when it is settled. */
  add({ id, user_id }: AssetOfUser): Promise<void> {
    const assets = this.#users.get(user_id) ?? new Map<string, PromiseWithResolvers<void>>()
    this.#users.set(user_id, assets)
    const waiting = assets.get(id) ?? Promise.withResolvers<void>()
    assets.set(id, waiting)
    return waiting.promise
  }

  /**
   * Returns the next asset of a user who is not busy. The user's next turn comes after those of all others. The asset stays in the queue
   * until it is settled.
   */
  next(busy: { has(user_id: string): boolean }): AssetOfUser | null {
    for (const [user_id, assets] of this.#users) {
      if (busy.has(user_id)) continue
      this.#users.delete(user_id)
      this.#users.set(user_id, assets)
      for (const id of assets.keys()) return { id, user_id }
    }
    return null
  }

  settle({ id, user_id }: AssetOfUser): void {
    const assets = this.#users.get(user_id)
    assets?.get(id)?.resolve()
    assets?.delete(id)
    if (assets?.size === 0) this.#users.delete(user_id)
  }

  settleAll(): void {
    for (const assets of this.#users.values()) for (const { resolve } of assets.values()) resolve()
    this.#users.clear()
  }
}
