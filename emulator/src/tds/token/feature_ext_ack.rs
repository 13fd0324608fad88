//! FEATUREEXTACK: which of the features asked for the server has (MS-TDS 2.2.7.11).

use bytes::{BufMut, Bytes, BytesMut};

use crate::tds::login::Feature;

const TOKEN: u8 = 0xAE;

/// Writes the token, or nothing if nothing is acknowledged. Only UTF8_SUPPORT ever is: a feature that is not named
/// counts as lacking, and all clients accept that.
pub(crate) fn write_feature_ext_ack(target: &mut BytesMut, asked: &[Feature]) {
    if !asked.iter().any(|feature| feature.id == Feature::UTF8_SUPPORT) {
        return;
    }
    target.put_u8(TOKEN);
    let supported = Feature { id: Feature::UTF8_SUPPORT, data: Bytes::from_static(&[1]) };
    target.put_u8(supported.id);
    target.put_u32_le(supported.data.len() as u32);
    target.put_slice(&supported.data);
    target.put_u8(Feature::TERMINATOR);
}

/// Reads what follows the token's first byte.
#[cfg(test)]
pub(super) fn read(
    reader: &mut crate::tds::wire::WireReader,
) -> Result<Vec<Feature>, crate::tds::error::ProtocolError> {
    let mut features = Vec::new();
    loop {
        match reader.u8("feature")? {
            Feature::TERMINATOR => return Ok(features),
            id => {
                let length = reader.u32("length")? as usize;
                features.push(Feature { id, data: reader.take(length, "data")? });
            }
        }
    }
}
