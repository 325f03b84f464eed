/** Ours. */
export const GANTRY_VERSION = '0.1.0'

/** The level of the interface: clients ask for it before they use a feature, as strictly three numbers. */
export const INTERFACE_VERSION = '1.43.1'
