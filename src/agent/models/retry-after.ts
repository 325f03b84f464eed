/** What a provider asked to wait: in a header, in seconds, milliseconds or as a date; Google in the body. */
export function retryAfterMs(headers: Record<string, string>, body: string, now: number): number | undefined {
  const millis = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (millis >= 0) return Math.ceil(millis)
  const after = headers['retry-after']?.trim()
  if (after) {
    if (/^\d+(\.\d+)?$/.test(after)) return Math.ceil(Number(after) * 1000)
    const at = /^[A-Z]/i.test(after) ? Date.parse(after) : Number.NaN
    if (!Number.isNaN(at)) return Math.max(0, at - now)
  }
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1]
  return delay === undefined ? undefined : Math.ceil(Number(delay) * 1000)
}
