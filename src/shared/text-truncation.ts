// Shortens texts of others for messages.

export function truncateText(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** A value as messages show it, with at most 40 characters. */
export function truncateValue(value: string | number): string {
  return truncateText(String(value), 40)
}
