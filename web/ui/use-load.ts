import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export interface Load<T> {
  value: T | undefined
  problem: unknown
  loading: boolean
  /** What was read before stays shown meanwhile. */
  again: () => Promise<void>
  set: (value: T) => void
}

/** Reads something when a view opens and whenever one of `keys` changes; answers that were overtaken are dropped. */
export function useLoad<T>(read: (signal: AbortSignal) => Promise<T>, keys: readonly unknown[] = []): Load<T> {
  const [state, setState] = useState<{ value?: T; problem?: unknown; loading: boolean }>({ loading: true })
  const current = useRef<AbortController | undefined>(undefined)
  const again = useCallback(async () => {
    current.current?.abort()
    const controller = new AbortController()
    current.current = controller
    setState(before => ({ ...before, loading: true }))
    try {
      const value = await read(controller.signal)
      if (!controller.signal.aborted) setState({ value, loading: false })
    } catch (problem) {
      if (!controller.signal.aborted) setState(before => ({ ...before, problem, loading: false }))
    }
  }, keys)
  useEffect(() => {
    setState({ loading: true })
    again()
    return () => current.current?.abort()
  }, [again])
  return {
    value: state.value,
    problem: state.problem,
    loading: state.loading,
    again,
    set: value => setState({ value, loading: false }),
  }
}
